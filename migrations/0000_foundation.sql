CREATE TABLE `audit_segments` (
	`org_id` text NOT NULL,
	`first_sequence` integer NOT NULL,
	`last_sequence` integer NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`prev_hash` text NOT NULL,
	`last_hash` text NOT NULL,
	`actors` text NOT NULL,
	`actions` text NOT NULL,
	`resources` text NOT NULL,
	`entries` text NOT NULL,
	PRIMARY KEY(`org_id`, `first_sequence`)
);
--> statement-breakpoint
CREATE INDEX `audit_segments_end` ON `audit_segments` (`org_id`,`last_at`);--> statement-breakpoint
CREATE TABLE `commits` (
	`id` text PRIMARY KEY NOT NULL,
	`org_id` text NOT NULL,
	`holds` integer NOT NULL,
	`created_at` integer NOT NULL,
	CONSTRAINT "commits_holds" CHECK("commits"."holds" = 1)
);
--> statement-breakpoint
CREATE INDEX `commits_age` ON `commits` (`org_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `credentials` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`name` text,
	`token_hash` text NOT NULL,
	`hint` text NOT NULL,
	`scopes` text NOT NULL,
	`environments` text,
	`secrets` text,
	`allowed_addresses` text,
	`rate_limit` integer NOT NULL,
	`created_by` text NOT NULL,
	`dies_with` text,
	`successor_id` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_token` ON `credentials` (`org_id`,`token_hash`);--> statement-breakpoint
CREATE INDEX `credentials_end` ON `credentials` (`org_id`,`expires_at`,`revoked_at`);--> statement-breakpoint
CREATE TABLE `deployment_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`master_id` text NOT NULL,
	`key_sealed` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `environments` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `environments_slug` ON `environments` (`org_id`,`slug`);--> statement-breakpoint
CREATE TABLE `fences` (
	`org_id` text PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `members` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `members_email` ON `members` (`org_id`,`email`);--> statement-breakpoint
CREATE TABLE `org_keys` (
	`org_id` text PRIMARY KEY NOT NULL,
	`master_id` text NOT NULL,
	`key_sealed` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `orgs` (
	`id` text PRIMARY KEY NOT NULL,
	`shard` integer DEFAULT 0 NOT NULL,
	`name` text NOT NULL,
	`default_environment` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `secret_versions` (
	`org_id` text NOT NULL,
	`secret_id` text NOT NULL,
	`version` integer NOT NULL,
	`seal_id` text NOT NULL,
	`value_sealed` text NOT NULL,
	`fingerprint` text NOT NULL,
	`size` integer NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `secret_id`, `version`)
);
--> statement-breakpoint
CREATE TABLE `secrets` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`environment_id` text NOT NULL,
	`name` text NOT NULL,
	`type` text NOT NULL,
	`description` text,
	`tags` text NOT NULL,
	`version` integer NOT NULL,
	`amended` integer NOT NULL,
	`seal_id` text NOT NULL,
	`fingerprint` text NOT NULL,
	`size` integer NOT NULL,
	`sealed_size` integer NOT NULL,
	`oldest_version` integer NOT NULL,
	`rotate_every_seconds` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`expires_at` integer,
	`deleted_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `secrets_live_name` ON `secrets` (`org_id`,`environment_id`,`name`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `secrets_deleted` ON `secrets` (`org_id`,`deleted_at`);