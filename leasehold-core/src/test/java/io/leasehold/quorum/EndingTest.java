package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockNode;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The end of an owner token is repeated at the node that did not answer, and only there, until it has. */
@Tag("quick")
final class EndingTest {

    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** A node that answers releases from this try on, and can do nothing else. */
    private static LockNode node(int answersFrom, AtomicInteger tries) {
        return (LockNode) Proxy.newProxyInstance(
                EndingTest.class.getClassLoader(), new Class<?>[] {LockNode.class}, (proxy, method, arguments) -> {
                    if (!method.getName().equals("release")) {
                        throw new UnsupportedOperationException(method.getName());
                    }
                    ReleaseReply reply = tries.incrementAndGet() >= answersFrom
                            ? new ReleaseReply.Released()
                            : new ReleaseReply.Failed(
                                    FailureKind.UNKNOWN, new StoreUnavailableException("no answer", null));
                    return CompletableFuture.completedFuture(reply);
                });
    }

    @Test
    void whoDoesNotAnswerIsAskedAgain() {
        List<AtomicInteger> tries = List.of(new AtomicInteger(), new AtomicInteger(), new AtomicInteger());
        List<QuorumMember> members = new ArrayList<>();
        for (int i = 0; i < tries.size(); i++) {
            members.add(QuorumMember.of(node(i == 2 ? 3 : 1, tries.get(i)), "node-" + (i + 1)));
        }
        HandClock clock = new HandClock();
        NodeSet nodes = new NodeSet(members, QuorumSettings.standard(), clock);
        ReleaseRequest request = new ReleaseRequest(
                List.of(LockName.exactly("n")),
                OwnerToken.draw(clock),
                1,
                ReleaseRequest.Kind.UNDO,
                TimeUnit.SECONDS.toNanos(1));
        Ending ending = new Ending(nodes, request, LONG_NANOS);
        ending.begin();
        assertThat(clock.answer(ending.reply(LONG_NANOS)))
                .as("two of three have deleted it")
                .isInstanceOf(ReleaseReply.Released.class);
        clock.await(ending.over());
        assertThat(tries.stream().map(AtomicInteger::get)).containsExactly(1, 1, 3);
    }
}
