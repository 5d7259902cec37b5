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
 * <p>{@link io.leasehold.testkit.tck.FaultsTck} adds what goes wrong on the way to the store; its fixture brings a front that can do
 * it, and tells what the store keeps.
 *
 * <p>A test is left out only where the store's {@link io.leasehold.Guarantees} do not promise what it tests; what was
 * left out is printed when the class ends. Overriding or disabling a test fails the class.
 */
@NullMarked
package io.leasehold.testkit.tck;

import org.jspecify.annotations.NullMarked;
