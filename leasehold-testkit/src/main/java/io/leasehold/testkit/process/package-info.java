/**
 * Child JVMs that tests run, freeze and kill, to observe the effect on other processes. Needs a POSIX system.
 *
 * <p>A child has the class path of the test and communicates by lines; it ends with the test's JVM, however that ends.
 *
 * <pre>{@code
 * try (ChildJvm holder = ChildJvm.of(Worker.class).arguments("redis://localhost:6379").start()) {
 *     holder.awaitLine("holding", Duration.ofMinutes(1));
 *     holder.freeze();
 *     assertNotNull(lock.tryAcquire(Duration.ofMinutes(1)));
 *     holder.thaw();
 *     holder.awaitLine("lost", Duration.ofMinutes(1));
 * }
 * }</pre>
 */
@NullMarked
package io.leasehold.testkit.process;

import org.jspecify.annotations.NullMarked;
