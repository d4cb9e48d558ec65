import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A server of rows whose answers wait until they are released; from then on it answers at once. */
export async function holdAnswers() {
  const held: ServerResponse[] = [];
  let isReleased = false;
  const answer = (response: ServerResponse) => {
    response.setHeader("content-type", "application/json");
    response.end('[{"id": 1}]');
  };
  const server = createServer((_, response) => {
    if (isReleased) answer(response);
    else held.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/rows`,
    release() {
      isReleased = true;
      for (const response of held) answer(response);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
