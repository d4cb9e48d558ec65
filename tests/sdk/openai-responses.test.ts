import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { recordedResponseCases } from "./cases/recorded-responses.ts";
import { responseCases } from "./cases/responses.ts";
import { responseErrorCases } from "./cases/responses-errors.ts";
import { responseMemoryCases } from "./cases/responses-memory.ts";
import { responseToolCases } from "./cases/responses-tools.ts";
import { ENGINES, type EngineGateway, openEngineGateway } from "./engine-gateway.ts";

describe.each(ENGINES)("the official client's responses before %s", (engine) => {
  let world: EngineGateway;
  const opened = () => world;

  beforeAll(async () => {
    world = await openEngineGateway(engine);
  });
  beforeEach(() => world.simulator.reset());
  afterAll(() => world?.close());

  responseCases(opened);
  responseToolCases(opened);
  responseMemoryCases(opened);
  responseErrorCases(opened);
  recordedResponseCases(opened);
});
