// Gives a user a new password, even while the server runs: `bun run reset-password USER`.
import { loadConfig } from "../../src/config/load-config.ts";
import { openClock } from "../../src/operations/open-clock.ts";
import { runReset } from "../../src/operations/reset-password/run-reset.ts";
import { commandLog, runCommand, UsageError } from "../backup/run-command.ts";

const USAGE = `Usage:
  reset-password USER
      Gives USER a new password and prints it. It must be changed at the next login. Ends the user's sessions, and
      forgets failed logins. The server may run. Settings are read as the server reads them.`;

await runCommand(USAGE, async ([username, ...more]) => {
  if (username === undefined || username === "" || more.length > 0) {
    throw new UsageError("name one user");
  }
  if (username.startsWith("-")) throw new UsageError(`${username} is not known`);
  const { settings } = loadConfig();
  const log = commandLog();
  const clock = openClock(settings, log);
  const reset = await runReset({ settings, username, clock, log });
  await clock.close();
  const say = (text: string) => void process.stderr.write(`reset-password: ${text}\n`);
  const { endedSessions: ended } = reset;
  say(`${reset.username} has a new password, which must be changed at the next login`);
  say(`${ended} ${ended === 1 ? "session" : "sessions"} ended`);
  if (reset.isDisabled) {
    say(`${reset.username} is disabled and cannot log in until an administrator enables the user`);
  }
  const { linkedAccounts: linked, role } = reset;
  if (linked > 0) {
    say(
      `${linked} linked ${linked === 1 ? "account still signs" : "accounts still sign"} in as ${reset.username}; ` +
        "an administrator can unlink them",
    );
  }
  if (settings.OIDC_ONLY) {
    say(
      role === "admin"
        ? "OIDC_ONLY is 1: the password works for one hour from now"
        : "OIDC_ONLY is 1: only administrators can log in with a password, so this one does not work",
    );
  }
  process.stdout.write(`${reset.password}\n`);
});
