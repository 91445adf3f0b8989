CREATE TABLE `incidents` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`status` text NOT NULL,
	`credential` text,
	`since` integer,
	`spared` text NOT NULL,
	`reason` text,
	`note` text,
	`opened_by` text NOT NULL,
	`root` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`closed_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
