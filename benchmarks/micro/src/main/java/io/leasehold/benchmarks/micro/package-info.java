/** The cost of a call within the process: JMH over the in-memory store. */
@NullMarked
package io.leasehold.benchmarks.micro;

import org.jspecify.annotations.NullMarked;
