import { z } from "@hono/zod-openapi";
import type { AnyActor } from "../../access/actor.ts";
import { change } from "../../access/change.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { BackupError } from "../../operations/backup/backup-format.ts";
import type { RunningBackup } from "../../operations/backup/open-backups.ts";
import { relayedResponse } from "../answers/relayed-response.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { actorOf } from "../request/actor-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

/** A client that takes nothing for this long is disconnected: a backup holds a snapshot of the database open. */
const SILENCE_MS = 60_000;

const DESCRIPTION = "A tar archive, compressed by gzip, that `restore` reads.";
const route = resourceRoute({
  path: "/api/admin/backups",
  method: "post",
  access: "administrator",
  tokens: "backup:create",
  tag: "System",
  operationId: "createBackup",
  summary: "Make a backup",
  description:
    "The whole installation as it is now, as one archive that is sent while it is made and kept nowhere. It holds every " +
    "secret of the installation: protect it like a password. An answer that ends early is no backup, and `restore` " +
    "refuses it.",
  answer: { description: DESCRIPTION },
  errors: { 409: "Another backup is in progress; one runs at a time." },
});
const CREATE = {
  ...route,
  responses: {
    ...route.responses,
    200: {
      description: DESCRIPTION,
      content: { "application/gzip": { schema: z.string().openapi({ format: "binary" }) } },
    },
  },
};

/** `POST /api/admin/backups`: what the command `backup` writes, for a machine that cannot run it. */
export function backupsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    // A large table is read for longer than connections may be quiet.
    const endSilence = context.env.allowSilence();
    try {
      const backup = await begin(deps);
      // Before the first byte leaves, and only for a backup that is made.
      await record(deps, actorOf(context, caller)).catch(async (thrown: unknown) => {
        await backup.close();
        throw thrown;
      });
      const end = () => {
        endSilence();
        void backup.close();
      };
      const name = `gateway-${new Date(deps.clock.now()).toISOString().replaceAll(/[:.]/g, "-")}`;
      const headers = {
        "content-type": "application/gzip",
        "content-disposition": `attachment; filename="${name}.tar.gz"`,
        "cache-control": "private, no-store",
      };
      return relayedResponse(readAttended(backup, end), { headers, onCancel: end, onEnd: end });
    } catch (thrown) {
      endSilence();
      throw thrown;
    }
  });
  return router;
}

/** Writes the audit entry, if the actor still has the right. */
function record({ access }: Deps, actor: AnyActor): Promise<void> {
  const frame = { action: "backup.create", targetKind: "backup", targetId: null } as const;
  return change(access, actor, frame, async () => ({ result: undefined, details: {} }));
}

async function begin({ backups }: Deps): Promise<RunningBackup> {
  const begun = backups.begin();
  if (begun === undefined) {
    throw new ServiceError("run_active", "A backup is in progress. Try again when it has ended.");
  }
  return await begun.catch((thrown: unknown) => {
    if (!(thrown instanceof BackupError)) throw thrown;
    throw new ServiceError("storage_unavailable", thrown.message, { cause: thrown });
  });
}

/** Yields the bytes, and ends the backup when nobody asks for the next ones. */
async function* readAttended(
  { bytes }: RunningBackup,
  onSilence: () => void,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of bytes) {
    const silence = setTimeout(onSilence, SILENCE_MS);
    try {
      yield chunk;
    } finally {
      clearTimeout(silence);
    }
  }
}
