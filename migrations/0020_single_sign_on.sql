CREATE TABLE `domains` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`domain` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`verified_at` integer,
	`missing_since` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `domains_domain` ON `domains` (`org_id`,`domain`);--> statement-breakpoint
CREATE TABLE `former_members` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`email` text NOT NULL,
	`links` text NOT NULL,
	`removed_by` text NOT NULL,
	`removed_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `log_stream_positions` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`sequence` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `log_streams` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`config` text NOT NULL,
	`credentials_sealed` text NOT NULL,
	`format` text NOT NULL,
	`disabled` text,
	`created_by` text NOT NULL,
	`maker` text NOT NULL,
	`generation` integer NOT NULL,
	`starts_after` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `sso_connections` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`config` text NOT NULL,
	`client_secret_sealed` text,
	`domains` text NOT NULL,
	`jit` integer NOT NULL,
	`enforce` integer NOT NULL,
	`default_role` text NOT NULL,
	`default_environments` text,
	`role_mappings` text NOT NULL,
	`team_mappings` text NOT NULL,
	`changed_by` text,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `sso_connections_id` ON `sso_connections` (`id`);--> statement-breakpoint
CREATE TABLE `sso_links` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`member_id` text NOT NULL,
	`connection_id` text NOT NULL,
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
ALTER TABLE `credentials` ADD `sso` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `scim` text;--> statement-breakpoint
ALTER TABLE `members` ADD `suspended_at` integer;--> statement-breakpoint
ALTER TABLE `members` ADD `suspended_by` text;--> statement-breakpoint
ALTER TABLE `members` ADD `resumed_at` integer;--> statement-breakpoint
ALTER TABLE `members` ADD `provisioned` text;--> statement-breakpoint
ALTER TABLE `team_members` ADD `held_by` text;--> statement-breakpoint
ALTER TABLE `teams` ADD `provisioned` text;