/**
 * Permits and locks around the tasks of db-scheduler: {@link io.leasehold.dbscheduler.LeaseInterceptor} runs a task only
 * while it holds a lease.
 */
@NullMarked
package io.leasehold.dbscheduler;

import org.jspecify.annotations.NullMarked;
