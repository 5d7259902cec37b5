/** The cost of a call in the process alone: JMH over the in-memory store. */
@NullMarked
package io.leasehold.benchmarks.micro;

import org.jspecify.annotations.NullMarked;
