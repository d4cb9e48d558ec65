/** The pattern that means every tool or saved connection. */
export const EVERY_NAME = "*";

/**
 * Returns whether a list of names, or patterns with a trailing `*`, covers a name. A pattern is covered by a wider one:
 * `mcp_*` covers `mcp_crm_*`.
 */
export function coversName(patterns: readonly string[], name: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === name || (pattern.endsWith(EVERY_NAME) && name.startsWith(pattern.slice(0, -1))),
  );
}
