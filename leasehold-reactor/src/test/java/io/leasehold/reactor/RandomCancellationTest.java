package io.leasehold.reactor;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A few hundred cancellations at random moments leave no key and no renewal; {@link ManyRandomCancellationsTest} has more. */
@Tag("quick")
class RandomCancellationTest {

    @Test
    void inMemory() throws InterruptedException {
        Storm.run("memory:", 300, 1);
    }
}
