CREATE TABLE `event_segments` (
	`org_id` text NOT NULL,
	`first_sequence` integer NOT NULL,
	`last_sequence` integer NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`events` text NOT NULL,
	PRIMARY KEY(`org_id`, `first_sequence`)
);
--> statement-breakpoint
CREATE INDEX `event_segments_end` ON `event_segments` (`org_id`,`last_at`);--> statement-breakpoint
CREATE TABLE `integrations` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`platform` text NOT NULL,
	`name` text NOT NULL,
	`config` text NOT NULL,
	`credentials_sealed` text,
	`environments` text,
	`auto` integer NOT NULL,
	`prune` integer NOT NULL,
	`events` text,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `shares` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`secret_id` text NOT NULL,
	`version` integer NOT NULL,
	`key_hash` text NOT NULL,
	`value_sealed` text NOT NULL,
	`passphrase` text,
	`max_views` integer NOT NULL,
	`views` integer NOT NULL,
	`failures` integer NOT NULL,
	`created_by` text NOT NULL,
	`dies_with` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`revoked_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`host` text NOT NULL,
	`url_sealed` text NOT NULL,
	`description` text,
	`events` text,
	`secret_sealed` text NOT NULL,
	`old_secret_sealed` text,
	`old_secret_until` integer,
	`disabled` text,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
