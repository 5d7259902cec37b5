package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.spi.OwnerToken;
import java.lang.ref.WeakReference;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the time when a client may leave its place at a member, since none of its attempts waits there any more. */
@Tag("quick")
final class ClientPlacesTest {

    private static final LockName NAME = LockName.of("x");
    private static final LockName OTHER_NAME = LockName.of("y");
    private static final OwnerToken ONE = OwnerToken.fromHex("01".repeat(OwnerToken.BYTES));
    private static final OwnerToken OTHER = OwnerToken.fromHex("02".repeat(OwnerToken.BYTES));

    private long nowNanos = Long.MAX_VALUE - 5;
    private final ClientPlaces places = new ClientPlaces(() -> nowNanos);

    @Test
    void aPlaceIsKeptUntilTheLastAttemptHasLeftIt() {
        assertThat(places.enter(NAME, ONE, 100)).isEqualTo(new ClientPlaces.Entry(true, true));
        assertThat(places.enter(NAME, ONE, 100)).isEqualTo(new ClientPlaces.Entry(false, false));
        places.enter(NAME, OTHER, 100);
        places.leave(NAME, ONE);
        assertThat(places.isKept(NAME)).isTrue();
        assertThat(places.isKept(LockName.of("y"))).isFalse();
        places.leave(NAME, OTHER);
        assertThat(places.isKept(NAME)).isFalse();
    }

    @Test
    void anAttemptBetweenTwoOwnerTokensKeepsItsPlace() {
        places.enter(NAME, ONE, 100);
        places.supersede(NAME, ONE);
        assertThat(places.isKept(NAME)).isTrue();
        assertThat(places.enter(NAME, OTHER, 100))
                .as("it may be watched")
                .isEqualTo(new ClientPlaces.Entry(true, false));
        places.leave(NAME, OTHER);
        assertThat(places.isKept(NAME)).isFalse();
        assertThat(places.enter(NAME, OTHER, 100)).isEqualTo(new ClientPlaces.Entry(true, true));
        places.leave(NAME, OTHER);
    }

    @Test
    void anAttemptThatIsGivenUpBetweenTwoOwnerTokensLeaves() {
        places.enter(NAME, ONE, 100);
        places.supersede(NAME, ONE);
        places.leave(NAME, ONE);
        assertThat(places.isKept(NAME)).isFalse();
    }

    @Test
    void whoDoesNotWaitIsNotKeptByBeingSuperseded() {
        places.supersede(NAME, ONE);
        assertThat(places.isKept(NAME)).isFalse();
    }

    private WeakReference<LockName> enteredOnce() {
        LockName drawn = LockName.of("drawn");
        places.enter(drawn, ONE, 100);
        return new WeakReference<>(drawn);
    }

    /** With random names of locks, no client requests the same lock again. */
    @Test
    void whatNobodyEndsOrAsksAboutIsForgottenInTheEnd() {
        WeakReference<LockName> drawn = enteredOnce();
        places.enter(OTHER_NAME, OTHER, 300);
        nowNanos += 200;
        for (int i = 0; i < 5_000; i++) {
            places.enter(NAME, ONE, 100);
        }
        assertThat(places.isKept(OTHER_NAME)).as("a place that lasts").isTrue();
        long start = System.nanoTime();
        while (drawn.get() != null) {
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(ScriptedRedis.LIMIT_SECONDS));
            System.gc();
        }
    }

    @Test
    void aPlaceThatNobodyEndsIsForgottenWithItsTime() {
        places.enter(NAME, ONE, 100);
        nowNanos += 99;
        assertThat(places.isKept(NAME)).isTrue();
        nowNanos += 1;
        assertThat(places.isKept(NAME)).isFalse();
    }
}
