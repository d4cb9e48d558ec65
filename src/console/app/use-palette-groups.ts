import { Boxes, KeyRound, Play, UserRound, Zap } from "lucide-react";
import { useEffect, useState } from "react";
import { useFoundApiKeys } from "../api/queries/api-keys.ts";
import { useFoundRuns } from "../api/queries/found.ts";
import { useModels } from "../api/queries/models.ts";
import { useSession } from "../api/queries/session.ts";
import { useFoundUsers } from "../api/queries/users.ts";
import { formatRelative } from "../lib/time.ts";
import { usePreferences } from "../ui/preferences.ts";
import { useNow } from "../ui/text/time.tsx";
import { useKeyBindings } from "../ui/use-keys.ts";
import {
  bestFirst,
  findActions,
  findById,
  findPages,
  type PaletteGroup,
  pageOfList,
} from "./palette-items.ts";

const TYPING_MS = 200;
const SHORTEST = 2;
const MOST = 6;

interface Found {
  readonly groups: readonly PaletteGroup[];
  /** The server has not told yet. */
  readonly isSearching: boolean;
}

/**
 * Returns what fits what is typed: pages and actions at once; keys, users, models and runs when the typing rests. The
 * server tells a session only of what it may see.
 */
export function usePaletteGroups(typed: string): Found {
  const role = useSession().data?.role ?? "user";
  const bindings = useKeyBindings();
  const asked = useRested(typed.trim());
  const isWanted = asked.length >= SHORTEST;
  const has = (list: string) => isWanted && pageOfList(list, role) !== undefined;
  const keys = useFoundApiKeys(asked, has("keys"));
  const users = useFoundUsers(asked, has("users"));
  const runs = useFoundRuns(asked, has("runs"));
  const models = useModels();
  const runGroup = useRunItems(runs.data ?? []);
  const found = <Thing>(things: readonly Thing[] | undefined, list: string) =>
    has(list) ? (things ?? []).slice(0, MOST) : [];
  const groups: readonly PaletteGroup[] = [
    { label: "By id", items: findById(typed, role) },
    { label: "Pages", items: findPages(typed, role) },
    { label: "Actions", items: findActions(typed, bindings, Zap) },
    {
      label: "API keys",
      items: found(keys.data?.data, "keys").map(({ id, name, last_four: end }) => ({
        ...{ id, title: name, hint: `…${end}`, icon: KeyRound, to: `/keys/${id}` },
      })),
    },
    {
      label: "Users",
      items: found(users.data?.data, "users").map(({ id, username }) => ({
        ...{ id, title: username, icon: UserRound, to: `/users/${id}` },
      })),
    },
    {
      label: "Models",
      items: found(
        bestFirst(models.data ?? [], asked, ({ name }) => name),
        "models",
      ).map(({ id, name, hint }) => ({
        ...{ id: `model ${id}`, title: name, hint, icon: Boxes },
        to: `/models/${encodeURIComponent(id)}`,
      })),
    },
    { label: "Runs", items: found(runGroup, "runs") },
  ];
  return {
    groups: groups.filter(({ items }) => items.length > 0),
    isSearching: typed.trim() !== asked || keys.isFetching || users.isFetching || runs.isFetching,
  };
}

function useRunItems(runs: NonNullable<ReturnType<typeof useFoundRuns>["data"]>) {
  const { zone } = usePreferences();
  const now = useNow();
  return runs.map(({ runId, workflow_name: name, status, queued_at: at }) => ({
    ...{ id: runId, title: name, icon: Play, to: `/runs/${runId}` },
    hint: `${status}, ${formatRelative(at, now, zone)}`,
  }));
}

/** Returns a text once it has been the same for a moment. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}
