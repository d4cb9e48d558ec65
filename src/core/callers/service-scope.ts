/**
 * What a service token may do: read, change or run one kind of resource. The routes declare the resource
 * (`http/request/routes/route.ts`); a scope that no route declares does not belong here.
 */
export const SERVICE_SCOPES = [
  "audit:read",
  "backup:create",
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
  "workflows:read",
  "workflows:run",
  "workflows:write",
] as const;

export type ServiceScope = (typeof SERVICE_SCOPES)[number];
export type ServiceResource = ServiceScope extends `${infer Resource}:${string}` ? Resource : never;

/** What a route declares: its resource, or the scope itself where the method does not tell it. */
export type NeededScope = ServiceResource | ServiceScope;

/** Returns the scope that a request needs: by its method, unless the route names the scope. */
export function scopeFor(needed: NeededScope, method: string): ServiceScope {
  return isScope(needed) ? needed : byMethod(needed, method);
}

function isScope(needed: NeededScope): needed is ServiceScope {
  return needed.includes(":");
}

function byMethod(resource: ServiceResource, method: string): ServiceScope {
  return `${resource}:${/^(get|head)$/i.test(method) ? "read" : "write"}` as ServiceScope;
}
