import { createEgress } from "../../../src/lib/egress/egress.ts";
import { EgressError } from "../../../src/lib/egress/egress-error.ts";

// Posts to an address as a server's process does, and prints the answer. Every name leads to this machine.
const egress = createEgress({ allow: ["127.0.0.1"], resolve: async () => ["127.0.0.1"] });
try {
  const { status, body } = await egress.send(process.argv[2] ?? "", {
    method: "POST",
    headers: {},
    body: "hello",
    signal: AbortSignal.timeout(60_000),
    connectTimeoutMs: 60_000,
    maxBytes: 1_000,
  });
  let text = "";
  for await (const piece of body) text += Buffer.from(piece).toString();
  process.stdout.write(`${status} ${text}`);
} catch (thrown) {
  process.stdout.write(thrown instanceof EgressError ? thrown.reason : String(thrown));
}
