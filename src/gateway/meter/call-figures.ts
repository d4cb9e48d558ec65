import { CHANNELS, type Channel } from "../../core/channel.ts";
import { Histogram } from "../../lib/histogram.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { OUTCOMES, type Outcome, type UsageRecord } from "../../usage/usage-record.ts";

/** Figures of the metered calls of one channel that this process has ended. */
export interface ChannelFigures {
  readonly outcomes: Record<Outcome, number>;
  inputTokens: number;
  outputTokens: number;
  /** Seconds from admission to the end. */
  readonly duration: Histogram;
  /** Seconds from admission to the first event, of calls that had an event. */
  readonly firstToken: Histogram;
}

/** The figures of the usage rows that this process has written since its start, summed in memory. */
export interface CallFigures {
  readonly channels: Readonly<Record<Channel, ChannelFigures>>;
  /** Counts a call whose row has been written. */
  readonly count: (record: UsageRecord) => void;
}

/** Buckets in seconds. They range from an engine that answers from its cache to one that loads a model first. */
const DURATIONS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
const FIRST_TOKENS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120];

export function createCallFigures(): CallFigures {
  const channels = Object.fromEntries(CHANNELS.map((channel) => [channel, channelFigures()]));
  const figures = channels as Record<Channel, ChannelFigures>;
  return {
    channels: figures,
    count({ channel, outcome, inputTokens, outputTokens, latencyMs, firstTokenMs }) {
      const of = figures[channel];
      of.outcomes[outcome] += 1;
      of.inputTokens += inputTokens;
      of.outputTokens += outputTokens;
      of.duration.observe(Math.max(0, latencyMs) / 1_000);
      if (firstTokenMs !== null) of.firstToken.observe(Math.max(0, firstTokenMs) / 1_000);
    },
  };
}

function channelFigures(): ChannelFigures {
  return {
    outcomes: zeroCounts(OUTCOMES),
    inputTokens: 0,
    outputTokens: 0,
    duration: new Histogram(DURATIONS),
    firstToken: new Histogram(FIRST_TOKENS),
  };
}
