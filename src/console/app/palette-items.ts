import type { LucideIcon } from "lucide-react";
import { matchScore } from "../lib/match.ts";
import type { PageDefinition } from "../page-definition.ts";
import { pages } from "../pages.ts";
import type { KeyBinding } from "../ui/use-keys.ts";

/** Something that the palette leads to or does. */
export interface PaletteItem {
  readonly id: string;
  readonly title: string;
  /** What tells it from another of the same name. */
  readonly hint?: string | undefined;
  readonly icon: LucideIcon;
  /** The keys that do the same. */
  readonly keys?: string | undefined;
  /** A path of the console; without one `run` does it. */
  readonly to?: string;
  readonly run?: KeyBinding["run"];
}

export interface PaletteGroup {
  readonly label: string;
  readonly items: readonly PaletteItem[];
}

export type PaletteRole = "admin" | "user";

/** The pages whose rows are named by ids, by the beginning of these. */
const LISTS: Readonly<Record<string, string>> = {
  req: "requests",
  run: "runs",
  key: "keys",
  usr: "users",
  evt: "events",
};
const ID = /^([a-z]{3})_[\x21-\x7e]{1,200}$/;
/** What moves about within a page is no action to be searched for. */
const MOVES: ReadonlySet<string> = new Set(["j", "k", "/", "Escape", "mod+k"]);

/** Returns the page that shows a single thing of a list, if this session may see it. */
export function pageOfList(list: string, role: PaletteRole): PageDefinition | undefined {
  return pages.find(
    ({ path, level, opensRows }) =>
      (level === "user" || level === role) &&
      ((path === list && opensRows) || new RegExp(`^${list}/\\$\\w+$`).test(path)),
  );
}

/** Returns the way to the thing whose id was typed. */
export function findById(typed: string, role: PaletteRole): readonly PaletteItem[] {
  const id = typed.trim();
  const kind = ID.exec(id)?.[1] ?? "";
  const list = Object.hasOwn(LISTS, kind) ? LISTS[kind] : undefined;
  const page = list === undefined ? undefined : pageOfList(list, role);
  if (page === undefined) return [];
  const to = `/${list}/${encodeURIComponent(id)}`;
  return [{ id, title: id, hint: page.title, icon: page.icon, to }];
}

export function findPages(typed: string, role: PaletteRole): readonly PaletteItem[] {
  const shown = pages.filter(
    ({ level, path }) => (level === "user" || level === role) && !path.includes("$"),
  );
  return bestFirst(shown, typed, ({ title }) => title).map((page) => ({
    id: page.path,
    title: page.title,
    icon: page.icon,
    keys: page.shortcut && `g ${page.shortcut}`,
    to: `/${page.path}`,
  }));
}

/** Returns what can be done now by a key. */
export function findActions(
  typed: string,
  bindings: readonly KeyBinding[],
  icon: LucideIcon,
): readonly PaletteItem[] {
  const actions = bindings.filter(({ keys }) => !MOVES.has(keys) && !keys.startsWith("g "));
  return bestFirst(actions, typed, ({ label }) => label).map(({ keys, label, run }) => ({
    id: `action ${keys}`,
    ...{ title: label, keys, icon },
    run,
  }));
}

/** Returns those that fit what is typed, the best first. */
export function bestFirst<Thing>(
  things: readonly Thing[],
  typed: string,
  nameOf: (thing: Thing) => string,
): readonly Thing[] {
  return things
    .map((thing) => ({ thing, score: matchScore(nameOf(thing), typed) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .map(({ thing }) => thing);
}
