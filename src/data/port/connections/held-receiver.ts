import type { EngineSession, SessionReceiver } from "../engine.ts";

/** Holds what a session sends before anybody serves it, and then passes it on. */
export class HeldReceiver implements SessionReceiver {
  #held: Buffer[] = [];
  #end: readonly [code: string, message: string] | undefined;
  #receiver: SessionReceiver | undefined;

  /** The session pauses after its first bytes, so that little is held. */
  readonly bytes = (bytes: Buffer): boolean => {
    if (this.#receiver !== undefined) return this.#receiver.bytes(bytes);
    this.#held.push(Buffer.from(bytes));
    return false;
  };

  readonly began = (): void => this.#receiver?.began();

  readonly ended = (code: string, message: string): void => {
    if (this.#receiver !== undefined) this.#receiver.ended(code, message);
    else this.#end = [code, message];
  };

  /** Names the receiver, and lets the session go on when it was paused. */
  passTo(receiver: SessionReceiver, session: EngineSession): void {
    this.#receiver = receiver;
    const held = this.#held;
    this.#held = [];
    // All of it, for the receiver has no second chance; only its last answer counts.
    const goesOn = held.map((bytes) => receiver.bytes(bytes)).at(-1);
    if (goesOn === true) session.resume();
    if (this.#end !== undefined) receiver.ended(...this.#end);
  }
}
