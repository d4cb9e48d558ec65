/**
 * What a service token may do: read or change one kind of resource. The routes declare the resource
 * (`http/request/route.ts`); a scope that no route declares does not belong here.
 */
export const SERVICE_SCOPES = [
  "audit:read",
  "connections:read",
  "connections:write",
  "datasets:read",
  "datasets:write",
  "events:read",
  "events:write",
  "keys:read",
  "keys:write",
  "license:read",
  "license:write",
  "mcp_servers:read",
  "mcp_servers:write",
  "requests:read",
  "usage:read",
  "usage:write",
  "users:read",
  "users:write",
  "watched_folders:read",
] as const;

export type ServiceScope = (typeof SERVICE_SCOPES)[number];
export type ServiceResource = ServiceScope extends `${infer Resource}:${string}` ? Resource : never;

/** Returns the scope that a request needs, by its method. */
export function scopeFor(resource: ServiceResource, method: string): ServiceScope {
  return `${resource}:${/^(get|head)$/i.test(method) ? "read" : "write"}` as ServiceScope;
}
