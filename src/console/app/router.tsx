import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from "@tanstack/react-router";
import type { FunctionComponent } from "react";
import { parseSearch, stringifySearch, type UrlState } from "../lib/url-state.ts";
import type { PageDefinition } from "../page-definition.ts";
import { pages } from "../pages.ts";
import { PageError } from "./page-error.tsx";
import { Home, NotFound } from "./places.tsx";
import { Root } from "./root.tsx";
import { Shell } from "./shell.tsx";

const root = createRootRoute({
  component: Root,
  validateSearch: (search: Record<string, unknown>): UrlState => search as UrlState,
});

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  notFoundComponent: NotFound,
});

const home = createRoute({ getParentRoute: () => shell, path: "/", component: Home });

// A path that leads nowhere is told of within the shell.
const unknown = createRoute({ getParentRoute: () => shell, path: "$", component: NotFound });

const open = pages.filter(({ level }) => level === "open");
const guarded = pages.filter(({ level }) => level !== "open");

const routeTree = root.addChildren([
  ...open.map((page) =>
    createRoute({
      getParentRoute: () => root,
      path: routePath(page),
      component: pageComponent(page),
      errorComponent: PageError,
      staticData: { page },
    }),
  ),
  shell.addChildren([
    home,
    unknown,
    ...guarded.map((page) =>
      createRoute({
        getParentRoute: () => shell,
        path: routePath(page),
        component: pageComponent(page),
        errorComponent: PageError,
        staticData: { page },
      }),
    ),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  // What breaks around the pages is told of as well, in place of a blank screen.
  defaultErrorComponent: PageError,
  scrollRestoration: true,
});

function routePath({ path, opensRows }: PageDefinition): string {
  return opensRows ? `${path}/{-$row}` : path;
}

/** Returns a page's component, loaded when it is first met. */
function pageComponent({ load }: PageDefinition): RouteComponent {
  // The router would reload by itself when a file is gone, and drop what was typed: another message keeps it from that.
  const loadOrTell = () =>
    load().catch((cause: unknown) => {
      throw new Error("This page's files are gone from the server.", { cause });
    });
  return lazyRouteComponent<{ readonly Page: FunctionComponent }, "Page">(loadOrTell, "Page");
}
