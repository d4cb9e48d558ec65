declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Grant {
    addOIDCScope: (scope: string) => void;
    save: () => Promise<string>;
  }

  /** As much of it as the tests use: the package has no types of its own. */
  export class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    readonly Grant: {
      new (fields: object): Grant;
      find: (id: string) => Promise<Grant | undefined>;
    };
    readonly callback: () => (request: IncomingMessage, response: ServerResponse) => void;
    readonly interactionFinished: (
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
    ) => Promise<void>;
  }
}
