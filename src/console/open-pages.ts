import { Fingerprint, LogIn } from "lucide-react";
import type { PageDefinition } from "./page-definition.ts";

/** The pages for users without a session. The navigation does not list them. */
export const openPages: readonly PageDefinition[] = [
  {
    path: "login",
    title: "Sign in",
    level: "open",
    group: null,
    icon: LogIn,
    load: () => import("./pages/login/page.tsx"),
  },
  {
    path: "password",
    title: "Change your password",
    level: "open",
    group: null,
    icon: Fingerprint,
    load: () => import("./pages/password/page.tsx"),
  },
];
