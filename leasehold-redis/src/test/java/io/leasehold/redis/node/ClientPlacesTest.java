package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** When a client may leave its place at a member, since none of its attempts waits there any more. */
@Tag("quick")
final class ClientPlacesTest {

    private static final LockName NAME = LockName.of("x");
    private static final OwnerToken ONE = OwnerToken.fromHex("01".repeat(OwnerToken.BYTES));
    private static final OwnerToken OTHER = OwnerToken.fromHex("02".repeat(OwnerToken.BYTES));

    private long nowNanos = Long.MAX_VALUE - 5;
    private final ClientPlaces places = new ClientPlaces(() -> nowNanos);

    @Test
    void aPlaceIsKeptUntilTheLastAttemptHasLeftIt() {
        assertThat(places.enter(NAME, ONE, 100)).isTrue();
        assertThat(places.enter(NAME, ONE, 100)).isFalse();
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
        places.enter(NAME, OTHER, 100);
        places.leave(NAME, OTHER);
        assertThat(places.isKept(NAME)).isFalse();
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

    @Test
    void aPlaceThatNobodyEndsIsForgottenWithItsTime() {
        places.enter(NAME, ONE, 100);
        nowNanos += 99;
        assertThat(places.isKept(NAME)).isTrue();
        nowNanos += 1;
        assertThat(places.isKept(NAME)).isFalse();
    }
}
