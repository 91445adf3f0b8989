CREATE TABLE `reserved_secrets` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`environment_id` text NOT NULL,
	`name` text NOT NULL,
	`tags` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
ALTER TABLE `environments` ADD `lease_seconds` integer;