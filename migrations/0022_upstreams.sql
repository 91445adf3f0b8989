CREATE TABLE `upstreams` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`base_url` text NOT NULL,
	`environment_id` text NOT NULL,
	`auth` text NOT NULL,
	`secrets` text NOT NULL,
	`allow` text NOT NULL,
	`max_request_bytes` integer NOT NULL,
	`max_response_bytes` integer NOT NULL,
	`timeout_seconds` integer NOT NULL,
	`rate_limit` integer,
	`created_by` text NOT NULL,
	`maker` text NOT NULL,
	`taken_at` integer NOT NULL,
	`generation` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
ALTER TABLE `credentials` ADD `upstreams` text;--> statement-breakpoint
ALTER TABLE `grants` ADD `upstreams` text;