CREATE TABLE `journal_positions` (
	`org_id` text PRIMARY KEY NOT NULL,
	`term` text NOT NULL,
	`position` integer NOT NULL,
	`record` text NOT NULL,
	`holds` integer NOT NULL,
	CONSTRAINT "journal_positions_holds" CHECK("journal_positions"."holds" = 1)
);
