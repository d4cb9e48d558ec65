// Opens the store of DATA_DIR or DATABASE_URL as a start of the server does, then holds it until it is ended.
import { writeSync } from "node:fs";
import { firstStart } from "../../../src/access/first-start.ts";
import { hashCredentialUnder } from "../../../src/access/hash-credential.ts";
import { openInstallation } from "../../../src/access/open-installation.ts";
import { openSecret } from "../../../src/access/secret.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { openDatabase } from "../../../src/db/open-db.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";

try {
  const { settings } = loadConfig();
  const log = createLog("error");
  const database = await openDatabase(settings, log);
  await migrate(database);
  const secret = await openSecret(settings);
  await openInstallation(database, secret, systemClock);
  const hashApiKey = hashCredentialUnder(secret, "api-keys");
  const { issuedKey } = await firstStart({ database, settings, log }, hashApiKey);
  process.once("SIGTERM", () => void database.close().then(() => process.exit(0)));
  writeSync(1, `issued ${issuedKey ?? "nothing"}\nready\n`);
  setInterval(() => undefined, 60_000);
} catch (thrown) {
  writeSync(1, `${thrown instanceof Error ? thrown.message : thrown}\n`);
  process.exit(1);
}
