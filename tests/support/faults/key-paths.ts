/** The JSON values of a stream's events, whatever ends its lines; a terminal marker is left out. */
export function eventValues(stream: string): unknown[] {
  return stream
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:") && !line.includes("[DONE]"))
    .map((line) => JSON.parse(line.slice(5)));
}

/** Every path of keys that occurs in the values, sorted; places in lists all count as one. */
function keyPaths(values: readonly unknown[]): string[] {
  return [...new Set(values.flatMap((value) => pathsIn(value, "")))].sort();
}

function pathsIn(value: unknown, at: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, `${at}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = at === "" ? key : `${at}.${key}`;
    return [path, ...pathsIn(inner, path)];
  });
}

/** Which paths only the one side has, and which only the other. */
export function pathDifference(
  ours: readonly unknown[],
  theirs: readonly unknown[],
): { readonly onlyOurs: string[]; readonly onlyTheirs: string[] } {
  const [own, recorded] = [keyPaths(ours), keyPaths(theirs)];
  return {
    onlyOurs: own.filter((path) => !recorded.includes(path)),
    onlyTheirs: recorded.filter((path) => !own.includes(path)),
  };
}
