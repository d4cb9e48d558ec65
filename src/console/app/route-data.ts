import { useMatches } from "@tanstack/react-router";
import type { PageDefinition } from "../page-definition.ts";

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    /** The line of the registry that made the route. */
    page?: PageDefinition;
  }
}

/** Returns the page that is shown; undefined on the way to one and where there is none. */
export function useCurrentPage(): PageDefinition | undefined {
  return useMatches().at(-1)?.staticData.page;
}
