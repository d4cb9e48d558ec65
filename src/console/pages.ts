import type { ComponentType } from "react";

export interface PageDefinition {
  /** Below `/console`. */
  readonly path: string;
  readonly title: string;
  readonly level: "open" | "user" | "admin";
  readonly group: string;
  readonly icon: string;
  readonly shortcut?: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

export const pages: readonly PageDefinition[] = [
  {
    path: "login",
    title: "Sign in",
    level: "open",
    group: "",
    icon: "key",
    load: () => import("./pages/start/page.tsx"),
  },
];
