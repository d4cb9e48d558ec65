// Serves the console and shows it to a browser where there is no network but loopback: every page, and a chat about
// things from elsewhere. Prints as one line of JSON what left, by the browser's own log and by the kernel's counts. It
// is to be started in a network namespace of its own whose loopback is up.
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pages } from "../../../src/console/pages.ts";
import { packetsForElsewhere } from "../../support/packets-for-elsewhere.ts";
import { startPostgresCluster } from "../../support/servers/databases/postgres-cluster.ts";
import { sharedBrowser } from "./chromium.ts";
import { openConsolePage } from "./console-page.ts";
import { openConsoleStage } from "./console-stage.ts";
import { readNetworkLog } from "./network-log.ts";
import { pathOf } from "./page-path.ts";
import { fillGateway } from "./samples/fill-gateway.ts";
import { HOSTILE_TEXTS } from "./samples/hostile-texts.ts";

const ENGINE_PATH = "/v1/chat/completions";
const ANSWER = [
  "![a picture](https://elsewhere.example/a.png) and [a link](https://elsewhere.example/b)",
  ...HOSTILE_TEXTS,
].join("\n\n");

/** What Chromium asks for itself, whatever it shows: its updates, and what fields of forms are for. */
const OWN_HOSTS = ["update.googleapis.com", "content-autofill.googleapis.com"];

const folder = await mkdtemp(join(tmpdir(), "offline-tour-"));
const log = join(folder, "network.json");
const rules = OWN_HOSTS.map((host) => `MAP ${host} ~NOTFOUND`).join(", ");
const browser = await sharedBrowser([`--log-net-log=${log}`, `--host-resolver-rules=${rules}`]);
const cluster = await startPostgresCluster();
const stage = await openConsoleStage({ DATABASE_URL: cluster?.url ?? "" });
const samples = await fillGateway(stage);
const before = packetsForElsewhere();

const shown = await openConsolePage(stage, { role: "administrator" });
const nobody = await openConsolePage(stage);
for (const page of pages) {
  const { open } = page.level === "open" ? nobody : shown;
  await open(pathOf(page, samples));
}
await shown.open("chat");
stage.simulator.script({ match: { path: ENGINE_PATH }, text: ANSWER });
const composer = shown.page.getByRole("textbox", { name: "Message" });
await composer.fill("Show me something from elsewhere");
await composer.press("Enter");
await shown.page.getByRole("button", { name: "Ask for another answer" }).waitFor();
await shown.settled();
const cards = await shown.page.getByText("is not loaded").count();
const problems = [...shown.problems(), ...nobody.problems()];

const packets = packetsForElsewhere() - before;
await new Promise<void>((resolve) => {
  connect({ host: "192.0.2.1", port: 80 }).once("error", () => resolve());
});
const counted = packetsForElsewhere() - before - packets;
await browser.close();
await stage.close();
await cluster?.remove();
const use = await readNetworkLog(log, OWN_HOSTS);
await rm(folder, { recursive: true, force: true });
process.stdout.write(
  `${JSON.stringify({ pages: pages.length, cards, problems, packets, counted, ...use })}\n`,
);
process.exit(0);
