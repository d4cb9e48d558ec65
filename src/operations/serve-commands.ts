import type { Base } from "../db/base.ts";
import { type Backups, openBackups } from "./backup/open-backups.ts";
import { type BackupServer, serveBackups } from "./backup/serve-backups.ts";
import { createResetAnswer, RESET_PATH } from "./reset-password/serve-reset.ts";

/** Serves the commands that only the process with the embedded database can run, over the socket in DATA_DIR. */
export async function serveCommands(
  base: Base,
  productVersion: string,
): Promise<BackupServer & { readonly backups: Backups }> {
  const backups = openBackups({ ...base, productVersion });
  const commands = { [RESET_PATH]: createResetAnswer(base) };
  return { backups, ...(await serveBackups({ ...base, backups, commands })) };
}
