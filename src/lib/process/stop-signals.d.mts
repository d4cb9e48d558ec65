export type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP";

export declare const STOP_SIGNALS: readonly StopSignal[];
