CREATE TABLE `syncs` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`platform` text NOT NULL,
	`integration_id` text,
	`config` text,
	`credentials_sealed` text,
	`environment_id` text NOT NULL,
	`place` text NOT NULL,
	`names` text,
	`prune` integer NOT NULL,
	`requester` text NOT NULL,
	`credential` text,
	`approval` text,
	`status` text NOT NULL,
	`retry_after` integer,
	`cancelled_at` integer,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
ALTER TABLE `integrations` ADD `maker` text;--> statement-breakpoint
ALTER TABLE `integrations` ADD `reach` text;