-- A database of revision 0003: as that of 0002, with a weight, spent seconds, and when leases began and ended.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
CREATE TABLE candidates (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(255) NOT NULL, 
	job VARCHAR(255) NOT NULL, 
	workload VARCHAR(255) NOT NULL, 
	target VARCHAR(255) NOT NULL, 
	fingerprint VARCHAR(255) NOT NULL, 
	steps JSON NOT NULL, 
	purpose VARCHAR(255) NOT NULL, 
	timing JSON NOT NULL, 
	state VARCHAR(255) NOT NULL, 
	lease VARCHAR(255), 
	losses INTEGER NOT NULL, position INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT fk_candidates_job FOREIGN KEY(job) REFERENCES jobs (id), 
	CONSTRAINT fk_candidates_lease FOREIGN KEY(lease) REFERENCES leases (id), 
	CONSTRAINT fk_candidates_workload FOREIGN KEY(workload) REFERENCES workloads (hash), 
	CONSTRAINT uq_candidates_id UNIQUE (id)
);
INSERT INTO "candidates" VALUES(1,'a','545ff4583a9b4d87bd872c986b5f073a','w1:a','cpu-avx2-1t','f1:x','{"version": 1, "steps": [{"step": "split", "factor": 2, "id": "a"}]}','search','{"min_samples": 3, "max_samples": 1000, "min_total_s": 0.02, "min_sample_s": 0.0005, "slow_factor": 3.0, "incumbent_s": null, "limit_s": 10.0}','done','fe5c79df2fd04a699d7f14f5623e4fbf',0,1);
INSERT INTO "candidates" VALUES(2,'b','545ff4583a9b4d87bd872c986b5f073a','w1:a','cpu-avx2-1t','f1:x','{"version": 1, "steps": [{"step": "split", "factor": 4, "id": "b"}]}','search','{"min_samples": 3, "max_samples": 1000, "min_total_s": 0.02, "min_sample_s": 0.0005, "slow_factor": 3.0, "incumbent_s": null, "limit_s": 10.0}','done','fe5c79df2fd04a699d7f14f5623e4fbf',0,2);
INSERT INTO "candidates" VALUES(3,'c','2f81e99da93147bda5774fae90f8266e','w1:b','cpu-avx2-1t','f1:x','{"version": 1, "steps": [{"step": "split", "factor": 2, "id": "c"}]}','search','{"min_samples": 3, "max_samples": 1000, "min_total_s": 0.02, "min_sample_s": 0.0005, "slow_factor": 3.0, "incumbent_s": null, "limit_s": 10.0}','done','03db1d6360a64eec9de737d6e4210002',0,1);
INSERT INTO "candidates" VALUES(4,'d','545ff4583a9b4d87bd872c986b5f073a','w1:a','cpu-avx2-1t','f1:x','{"version": 1, "steps": [{"step": "split", "factor": 8, "id": "d"}]}','playoff','{"min_samples": 3, "max_samples": 1000, "min_total_s": 0.02, "min_sample_s": 0.0005, "slow_factor": 3.0, "incumbent_s": null, "limit_s": 10.0}','queued',NULL,0,3);
CREATE TABLE events (
	job VARCHAR(255) NOT NULL, 
	number INTEGER NOT NULL, 
	kind VARCHAR(255) NOT NULL, 
	data JSON NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY (job, number), 
	CONSTRAINT fk_events_job FOREIGN KEY(job) REFERENCES jobs (id)
);
INSERT INTO "events" VALUES('545ff4583a9b4d87bd872c986b5f073a',1,'state','{"state": "queued", "reason": ""}',0.0);
INSERT INTO "events" VALUES('545ff4583a9b4d87bd872c986b5f073a',2,'state','{"state": "running", "reason": "", "target": "cpu-avx2-1t"}',0.0);
INSERT INTO "events" VALUES('2f81e99da93147bda5774fae90f8266e',1,'state','{"state": "queued", "reason": ""}',2.0);
INSERT INTO "events" VALUES('2f81e99da93147bda5774fae90f8266e',2,'state','{"state": "running", "reason": "", "target": "cpu-avx2-1t"}',3.0);
INSERT INTO "events" VALUES('545ff4583a9b4d87bd872c986b5f073a',3,'trial','{"candidate": "b", "workload": "w1:a", "purpose": "search", "outcome": "compile_error", "detail": "no", "median_s": null, "trials": {"issued": 2, "done": 1, "failed": 1}}',5.0);
INSERT INTO "events" VALUES('545ff4583a9b4d87bd872c986b5f073a',4,'trial','{"candidate": "a", "workload": "w1:a", "purpose": "search", "outcome": "ok", "detail": "", "median_s": 0.001, "trials": {"issued": 2, "done": 2, "failed": 1}}',5.0);
INSERT INTO "events" VALUES('2f81e99da93147bda5774fae90f8266e',3,'trial','{"candidate": "c", "workload": "w1:b", "purpose": "search", "outcome": "ok", "detail": "", "median_s": 0.001, "trials": {"issued": 1, "done": 1, "failed": 0}}',5.0);
CREATE TABLE idempotency (
	token VARCHAR(255) NOT NULL, 
	"key" VARCHAR(255) NOT NULL, 
	request VARCHAR(255) NOT NULL, 
	answer JSON NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_idempotency PRIMARY KEY (token, "key"), 
	CONSTRAINT fk_idempotency_token FOREIGN KEY(token) REFERENCES tokens (id)
);
CREATE TABLE job_workloads (
	job VARCHAR(255) NOT NULL, 
	position INTEGER NOT NULL, 
	workload VARCHAR(255) NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	op VARCHAR(255), 
	sizes JSON NOT NULL, 
	state VARCHAR(255) NOT NULL, 
	reason TEXT NOT NULL, 
	done INTEGER NOT NULL, 
	failed INTEGER NOT NULL, 
	failures JSON NOT NULL, 
	best VARCHAR(255), weight DOUBLE DEFAULT '1.0' NOT NULL, 
	CONSTRAINT pk_job_workloads PRIMARY KEY (job, position), 
	CONSTRAINT fk_job_workloads_job FOREIGN KEY(job) REFERENCES jobs (id), 
	CONSTRAINT fk_job_workloads_workload FOREIGN KEY(workload) REFERENCES workloads (hash)
);
INSERT INTO "job_workloads" VALUES('545ff4583a9b4d87bd872c986b5f073a',0,'w1:a','w1:a',NULL,'{}','running','',2,1,'{"compile_error": 1}',NULL,2.5);
INSERT INTO "job_workloads" VALUES('2f81e99da93147bda5774fae90f8266e',0,'w1:b','w1:b',NULL,'{}','running','',1,0,'{}',NULL,1.0);
CREATE TABLE jobs (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(255) NOT NULL, 
	owner VARCHAR(255) NOT NULL, 
	state VARCHAR(255) NOT NULL, 
	reason TEXT NOT NULL, 
	target VARCHAR(255), 
	strategy VARCHAR(255) NOT NULL, 
	seed BIGINT NOT NULL, 
	priority INTEGER NOT NULL, 
	budget_trials INTEGER NOT NULL, 
	budget_s DOUBLE NOT NULL, 
	deadline_at DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	started_at DOUBLE, 
	ended_at DOUBLE, 
	cancel BOOLEAN NOT NULL, 
	issued INTEGER NOT NULL, 
	done INTEGER NOT NULL, 
	failed INTEGER NOT NULL, 
	fingerprint VARCHAR(255), 
	peaks JSON, 
	last_event INTEGER NOT NULL, 
	tuner VARCHAR(255), 
	fence INTEGER NOT NULL, 
	leased_until DOUBLE NOT NULL, compiler VARCHAR(255), more BOOLEAN DEFAULT 0 NOT NULL, spent JSON DEFAULT '{}' NOT NULL, 
	CONSTRAINT fk_jobs_owner FOREIGN KEY(owner) REFERENCES tokens (id), 
	CONSTRAINT uq_jobs_id UNIQUE (id)
);
INSERT INTO "jobs" VALUES(1,'545ff4583a9b4d87bd872c986b5f073a','f7a0a43f033c4b7c9ec7bcfe7bbacbe4','running','','cpu-avx2-1t','random',0,0,64,100.0,1000.0,0.0,0.0,NULL,0,2,2,1,'f1:x',NULL,4,'tuner',1,60.0,'gcc 12',1,'{"search": 1.5}');
INSERT INTO "jobs" VALUES(2,'2f81e99da93147bda5774fae90f8266e','f7a0a43f033c4b7c9ec7bcfe7bbacbe4','running','','cpu-avx2-1t','random',0,0,64,100.0,1002.0,2.0,3.0,NULL,0,1,1,0,'f1:x',NULL,3,'tuner',1,63.0,NULL,0,'{}');
CREATE TABLE leases (
	fence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(255) NOT NULL, 
	worker VARCHAR(255) NOT NULL, 
	claim VARCHAR(255) NOT NULL, 
	job VARCHAR(255) NOT NULL, 
	state VARCHAR(255) NOT NULL, 
	expires_at DOUBLE NOT NULL, granted_at DOUBLE, ended_at DOUBLE, 
	CONSTRAINT fk_leases_job FOREIGN KEY(job) REFERENCES jobs (id), 
	CONSTRAINT fk_leases_worker FOREIGN KEY(worker) REFERENCES workers (id), 
	CONSTRAINT uq_leases_id UNIQUE (id), 
	CONSTRAINT uq_leases_worker_claim UNIQUE (worker, claim)
);
INSERT INTO "leases" VALUES(1,'fe5c79df2fd04a699d7f14f5623e4fbf','a420f5f97989408e83d7a214362b2245','k0','545ff4583a9b4d87bd872c986b5f073a','answered',60.0,1.0,5.0);
INSERT INTO "leases" VALUES(2,'03db1d6360a64eec9de737d6e4210002','a420f5f97989408e83d7a214362b2245','k1','2f81e99da93147bda5774fae90f8266e','answered',60.0,1.0,5.0);
CREATE TABLE models (
	target VARCHAR(255) NOT NULL, 
	data BLOB NOT NULL, 
	features VARCHAR(255) NOT NULL, 
	extent INTEGER NOT NULL, 
	CONSTRAINT pk_models PRIMARY KEY (target)
);
CREATE TABLE records (
	sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(255) NOT NULL, 
	workload VARCHAR(255) NOT NULL, 
	target VARCHAR(255) NOT NULL, 
	fingerprint VARCHAR(255) NOT NULL, 
	steps JSON NOT NULL, 
	steps_key VARCHAR(255) NOT NULL, 
	purpose VARCHAR(255) NOT NULL, 
	outcome VARCHAR(255) NOT NULL, 
	measurement JSON NOT NULL, 
	job VARCHAR(255), 
	worker VARCHAR(255), 
	created_at DOUBLE NOT NULL, number INTEGER DEFAULT '0' NOT NULL, generator VARCHAR(255) DEFAULT '' NOT NULL, compiler VARCHAR(255) DEFAULT '' NOT NULL, 
	CONSTRAINT fk_records_workload FOREIGN KEY(workload) REFERENCES workloads (hash), 
	CONSTRAINT uq_records_id UNIQUE (id)
);
INSERT INTO "records" VALUES(1,'b','w1:a','cpu-avx2-1t','f1:x','{"version": 1, "steps": [{"step": "split", "factor": 4, "id": "b"}]}','00df0ff663843c3913f0e29e54c216d1','search','compile_error','{"outcome": "compile_error", "detail": "no", "samples_s": [], "calls_per_sample": 0, "median_s": null, "build_s": 0.0, "check_s": 0.0, "timing_s": 0.0, "source_sha256": "", "generator": "g1:old", "compiler": "gcc 12.2.0", "flags": "", "error_ratio": null, "cache_mode": "warm", "timing": {"min_samples": 3, "max_samples": 1000, "min_total_s": 0.02, "min_sample_s": 0.0005, "slow_factor": 3.0, "incumbent_s": null, "limit_s": 10.0}}','545ff4583a9b4d87bd872c986b5f073a','a420f5f97989408e83d7a214362b2245',5.0,2,'g1:old','gcc 12.2.0');
INSERT INTO "records" VALUES(2,'a','w1:a','cpu-avx2-1t','f1:x','{"version": 1, "steps": [{"step": "split", "factor": 2, "id": "a"}]}','3c7d4a53a2b9a977740471eec67588e1','search','ok','{"outcome": "ok", "detail": "", "samples_s": [0.001, 0.001, 0.001], "calls_per_sample": 1, "median_s": 0.001, "build_s": 0.0, "check_s": 0.0, "timing_s": 0.0, "source_sha256": "", "generator": "g1:old", "compiler": "gcc 12.2.0", "flags": "", "error_ratio": null, "cache_mode": "warm", "timing": {"min_samples": 3, "max_samples": 1000, "min_total_s": 0.02, "min_sample_s": 0.0005, "slow_factor": 3.0, "incumbent_s": null, "limit_s": 10.0}}','545ff4583a9b4d87bd872c986b5f073a','a420f5f97989408e83d7a214362b2245',5.0,1,'g1:old','gcc 12.2.0');
INSERT INTO "records" VALUES(3,'c','w1:b','cpu-avx2-1t','f1:x','{"version": 1, "steps": [{"step": "split", "factor": 2, "id": "c"}]}','183c3da72129cd7a54191d0bc8de7e54','search','ok','{"outcome": "ok", "detail": "", "samples_s": [0.001, 0.001, 0.001], "calls_per_sample": 1, "median_s": 0.001, "build_s": 0.0, "check_s": 0.0, "timing_s": 0.0, "source_sha256": "", "generator": "g1:old", "compiler": "gcc 12.2.0", "flags": "", "error_ratio": null, "cache_mode": "warm", "timing": {"min_samples": 3, "max_samples": 1000, "min_total_s": 0.02, "min_sample_s": 0.0005, "slow_factor": 3.0, "incumbent_s": null, "limit_s": 10.0}}','2f81e99da93147bda5774fae90f8266e','a420f5f97989408e83d7a214362b2245',5.0,1,'g1:old','gcc 12.2.0');
CREATE TABLE schedules (
	position INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(255) NOT NULL, 
	workload VARCHAR(255) NOT NULL, 
	target VARCHAR(255) NOT NULL, 
	fingerprint VARCHAR(255) NOT NULL, 
	median_s DOUBLE NOT NULL, 
	body JSON NOT NULL, 
	CONSTRAINT fk_schedules_workload FOREIGN KEY(workload) REFERENCES workloads (hash), 
	CONSTRAINT uq_schedules_id UNIQUE (id)
);
CREATE TABLE sources (
	sha256 VARCHAR(255) NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_sources PRIMARY KEY (sha256)
);
CREATE TABLE tokens (
	id VARCHAR(255) NOT NULL, 
	sha256 VARCHAR(255) NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	role VARCHAR(255) NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_tokens PRIMARY KEY (id), 
	CONSTRAINT uq_tokens_sha256 UNIQUE (sha256)
);
INSERT INTO "tokens" VALUES('f7a0a43f033c4b7c9ec7bcfe7bbacbe4','be48742755ff30bca3b2cfe8fce26418fc648be132dad877d3413cd457942353','tester','admin',0.0);
CREATE TABLE workers (
	id VARCHAR(255) NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	fingerprint VARCHAR(255) NOT NULL, 
	facts JSON NOT NULL, 
	targets JSON NOT NULL, 
	generator VARCHAR(255) NOT NULL, 
	compiler VARCHAR(255) NOT NULL, 
	version VARCHAR(255) NOT NULL, 
	enrolled_at DOUBLE NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	CONSTRAINT pk_workers PRIMARY KEY (id), 
	CONSTRAINT uq_workers_name_fingerprint UNIQUE (name, fingerprint)
);
INSERT INTO "workers" VALUES('a420f5f97989408e83d7a214362b2245','box','f1:x','{"cores": 2}','["cpu-avx2-1t"]','g1:1','gcc 12','0.1',0.0,0.0);
CREATE TABLE workloads (
	hash VARCHAR(255) NOT NULL, 
	text TEXT NOT NULL, 
	names JSON NOT NULL, 
	op VARCHAR(255), 
	sizes JSON NOT NULL, 
	flops BIGINT NOT NULL, 
	io_bytes BIGINT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_workloads PRIMARY KEY (hash)
);
INSERT INTO "workloads" VALUES('w1:a','text w1:a','{}',NULL,'{}',0,0,0.0);
INSERT INTO "workloads" VALUES('w1:b','text w1:b','{}',NULL,'{}',0,0,2.0);
CREATE INDEX ix_jobs_state ON jobs (state);
CREATE INDEX ix_records_job_sequence ON records (job, sequence);
CREATE INDEX ix_records_workload_target_fingerprint_purpose ON records (workload, target, fingerprint, purpose);
CREATE INDEX ix_schedules_workload_target ON schedules (workload, target);
CREATE INDEX ix_leases_state_expires_at ON leases (state, expires_at);
CREATE INDEX ix_candidates_job_state ON candidates (job, state);
CREATE INDEX ix_candidates_lease ON candidates (lease);
CREATE INDEX ix_candidates_state_target ON candidates (state, target);
CREATE INDEX ix_records_job_number ON records (job, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('jobs',2);
INSERT INTO "sqlite_sequence" VALUES('candidates',4);
INSERT INTO "sqlite_sequence" VALUES('leases',2);
INSERT INTO "sqlite_sequence" VALUES('records',3);
COMMIT;
