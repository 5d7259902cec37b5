/**
 * The TCK that every backend passes: JUnit interfaces whose default methods are the tests.
 *
 * <pre>{@code
 * final class RedisTckTest implements BackendTck {
 *     private static final StoreFixture FIXTURE = redisFixture();
 *
 *     @Override
 *     public StoreFixture fixture() {
 *         return FIXTURE;
 *     }
 * }
 * }</pre>
 *
 * <p>{@link io.leasehold.testkit.tck.FaultsTck} adds faults on the way to the store; its fixture supplies a front that
 * injects them, and reads the state of the store.
 *
 * <p>A test is skipped only if the store's {@link io.leasehold.Guarantees} do not promise what it tests; skipped tests
 * are printed when the class ends. Overriding or disabling a test fails the class.
 */
@NullMarked
package io.leasehold.testkit.tck;

import org.jspecify.annotations.NullMarked;
