CREATE TABLE `grants` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`grantee_type` text NOT NULL,
	`grantee_id` text NOT NULL,
	`permission` text NOT NULL,
	`environments` text,
	`secrets` text,
	`created_by` text NOT NULL,
	`dies_with` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `passkeys` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`member_id` text NOT NULL,
	`name` text NOT NULL,
	`credential_id` text NOT NULL,
	`public_key` text NOT NULL,
	`counter` integer NOT NULL,
	`transports` text NOT NULL,
	`backed_up` integer NOT NULL,
	`created_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `passkeys_member` ON `passkeys` (`org_id`,`member_id`,`credential_id`);--> statement-breakpoint
CREATE TABLE `signing_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`public_jwk` text NOT NULL,
	`key_sealed` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `team_members` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`team_id` text NOT NULL,
	`member_id` text NOT NULL,
	`added_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `teams` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
ALTER TABLE `credentials` ADD `below_owner` integer;--> statement-breakpoint
ALTER TABLE `credentials` ADD `created_in` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `generation` integer;--> statement-breakpoint
ALTER TABLE `credentials` ADD `reason` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `member_id` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `passkey_id` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `refresh` text;--> statement-breakpoint
ALTER TABLE `members` ADD `invited_by` text;--> statement-breakpoint
ALTER TABLE `members` ADD `enrolled_at` integer;--> statement-breakpoint
ALTER TABLE `members` ADD `enrolment_hash` text;--> statement-breakpoint
ALTER TABLE `members` ADD `enrolment_made_at` integer;--> statement-breakpoint
ALTER TABLE `members` ADD `enrolment_ends_at` integer;--> statement-breakpoint
CREATE INDEX `members_enrolment` ON `members` (`org_id`,`enrolment_hash`);--> statement-breakpoint
ALTER TABLE `orgs` ADD `member_addresses` text;--> statement-breakpoint
ALTER TABLE `orgs` ADD `generation` integer;--> statement-breakpoint
ALTER TABLE `orgs` ADD `keys_generation` integer;--> statement-breakpoint
ALTER TABLE `orgs` ADD `spared` text;--> statement-breakpoint
ALTER TABLE `orgs` ADD `panicked_at` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `lifetime_seconds` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `revoked_at` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `revoked_through` integer;