/**
 * Returns a name as it is compared: without case, accents and compatibility forms. MariaDB finds its functions and the
 * tables of information_schema by a collation for which `slèep` is `sleep`.
 */
export function foldName(name: string): string {
  return name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("ß", "s")
    .replaceAll("ı", "i");
}
