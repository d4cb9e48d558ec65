// Prints what the HTTP client gets from an address.
// usage: get.ts URL
import { createHttpClient } from "../../../src/lib/http/create-http-client.ts";

const client = createHttpClient();
const { signal } = new AbortController();
const response = await client.send({
  url: process.argv[2] ?? "",
  method: "GET",
  headers: {},
  signal,
});
process.stdout.write(await response.text(1_000));
await client.close();
