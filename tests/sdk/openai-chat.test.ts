import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { chatCases } from "./cases/chat.ts";
import { errorCases } from "./cases/errors.ts";
import { modelCases } from "./cases/models.ts";
import { parameterCases } from "./cases/parameters.ts";
import { recordedClientCases } from "./cases/recorded-clients.ts";
import { toolCases } from "./cases/tools.ts";
import { wrongRequestCases } from "./cases/wrong-requests.ts";
import { ENGINES, type EngineGateway, openEngineGateway } from "./engine-gateway.ts";

describe.each(ENGINES)("the official client before %s", (engine) => {
  let world: EngineGateway;
  const opened = () => world;

  beforeAll(async () => {
    world = await openEngineGateway(engine);
  });
  beforeEach(() => world.simulator.reset());
  afterAll(() => world?.close());

  chatCases(opened);
  toolCases(engine, opened);
  parameterCases(engine, opened);
  errorCases(engine, opened);
  modelCases(opened);
  wrongRequestCases(opened);
  recordedClientCases(opened);
});
