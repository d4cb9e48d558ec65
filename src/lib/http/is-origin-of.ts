/**
 * Returns whether a page of this origin is served by this host. Compares names and ports. Behind a proxy the scheme is not
 * known, so each scheme's own port counts as none.
 *
 * @param host is the `Host` header; null when it is not known.
 */
export function isOriginOf(origin: string, host: string | null): boolean {
  if (host === null) return false;
  const [, scheme = "", authority = ""] = /^(https?):\/\/([^/?#@]+)$/i.exec(origin) ?? [];
  const ownPort = scheme.toLowerCase() === "https" ? /:443$/ : /:80$/;
  const plain = (text: string) => text.toLowerCase().replace(ownPort, "");
  return authority !== "" && plain(authority) === plain(host);
}
