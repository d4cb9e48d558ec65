/** What clients call; not what watches the service asks, nor pages. */
const TRACED = /^\/(?:v1\/(?!health$|docs|openapi\.json$)|mcp$)/;

export function isTraced(path: string): boolean {
  return TRACED.test(path);
}
