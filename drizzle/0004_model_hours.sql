CREATE TABLE "model_hours" (
	"hour" timestamp with time zone NOT NULL,
	"model" text NOT NULL,
	"channel" text NOT NULL,
	"requests" bigint NOT NULL,
	"failures" bigint NOT NULL,
	"rate_limited" bigint DEFAULT 0 NOT NULL,
	"aborted" bigint DEFAULT 0 NOT NULL,
	"latency_ms" bigint DEFAULT 0 NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	CONSTRAINT "model_hours_hour_model_channel_pk" PRIMARY KEY("hour","model","channel")
);
--> statement-breakpoint
INSERT INTO "model_hours" ("hour", "model", "channel", "requests", "failures", "rate_limited", "aborted", "latency_ms", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
	SELECT "hour", "model", "channel", sum("requests"), sum("failures"), sum("rate_limited"), sum("aborted"), sum("latency_ms"), sum("input_tokens"), sum("output_tokens"), sum("cached_tokens"), sum("reasoning_tokens")
	FROM "usage_hours" GROUP BY 1, 2, 3;