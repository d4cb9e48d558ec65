import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { messageCases } from "./cases/messages.ts";
import { messageCountCases } from "./cases/messages-counts.ts";
import { messageErrorCases } from "./cases/messages-errors.ts";
import { messageToolCases } from "./cases/messages-tools.ts";
import { wrongMessageCases } from "./cases/messages-wrong.ts";
import { recordedMessageCases } from "./cases/recorded-messages.ts";
import { ENGINES, type EngineGateway, openEngineGateway } from "./engine-gateway.ts";

describe.each(ENGINES)("the official client's messages before %s", (engine) => {
  let world: EngineGateway;
  const opened = () => world;

  beforeAll(async () => {
    world = await openEngineGateway(engine);
  });
  beforeEach(() => world.simulator.reset());
  afterAll(() => world?.close());

  messageCases(engine, opened);
  messageToolCases(engine, opened);
  messageCountCases(engine, opened);
  messageErrorCases(engine, opened);
  wrongMessageCases(opened);
  recordedMessageCases(opened);
});
