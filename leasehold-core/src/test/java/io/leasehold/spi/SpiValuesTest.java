package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.toolkit.CredentialsDesk;
import io.leasehold.spi.toolkit.ForeignText;
import io.leasehold.spi.toolkit.Glob;
import io.leasehold.spi.toolkit.KeptUntil;
import io.leasehold.spi.toolkit.PlainName;
import io.leasehold.spi.toolkit.TimeLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The values that the engine and the stores exchange. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class SpiValuesTest {

    private static final LockName NAME = LockName.exactly("n");

    private final HandClock clock = new HandClock();
    private final OwnerToken owner = OwnerToken.draw(clock);

    // ---- requests

    @Test
    void eachSettingOfARequestIsKeptByAllOthers() {
        List<UnaryOperator<AcquireRequest>> settings = List.of(
                r -> r.reserve(2),
                r -> r.nodeTimeout(3),
                r -> r.seenToken(4),
                r -> r.waiting(5),
                r -> r.claiming(6),
                r -> r.ballotSoFar(7),
                r -> r.provenWithin(10));
        List<ToLongFunction<AcquireRequest>> values = List.of(
                AcquireRequest::reserve,
                AcquireRequest::nodeTimeoutNanos,
                AcquireRequest::seenToken,
                AcquireRequest::recheckNanos,
                AcquireRequest::claimNanos,
                AcquireRequest::ballotSoFar,
                AcquireRequest::provenWithinNanos);
        AcquireRequest plain = AcquireRequest.exclusive(List.of(NAME), owner, "host/1/x", 8, 9);
        assertThat(values.stream().map(value -> value.applyAsLong(plain))).containsExactly(1L, 0L, 0L, 0L, 0L, 0L, 0L);
        assertThat(plain.isWaiting()).isFalse();
        for (int first = 0; first < settings.size(); first++) {
            AcquireRequest all = plain;
            for (int i = 0; i < settings.size(); i++) {
                all = settings.get((first + i) % settings.size()).apply(all);
            }
            AcquireRequest made = all;
            assertThat(values.stream().map(value -> value.applyAsLong(made)))
                    .containsExactly(2L, 3L, 4L, 5L, 6L, 7L, 10L);
            assertThat(made.isWaiting()).isTrue();
            assertThat(made.owner()).isEqualTo(owner);
            assertThat(made.holderId()).isEqualTo("host/1/x");
            assertThat(made.ttlNanos()).isEqualTo(8);
            assertThat(made.timeoutNanos()).isEqualTo(9);
            assertThat(made.name()).isEqualTo(NAME);
        }
        assertThat(plain).hasToString("acquire[n] by host/1/x");
    }

    @Test
    void aRequestIsForSortedNamesEachOnce() {
        LockName a = LockName.exactly("a");
        AcquireRequest several = AcquireRequest.exclusive(List.of(NAME, a, NAME), owner, "h", 1, 1);
        assertThat(several.names()).containsExactly(a, NAME);
        assertThatThrownBy(several::name).isInstanceOf(UnsupportedOperationException.class);
        assertThatIllegalArgumentException().isThrownBy(() -> AcquireRequest.exclusive(List.of(), owner, "h", 1, 1));
    }

    @Test
    void tokensAreWithinTheirRange() {
        assertThat(TokenRange.of(5, 3)).isEqualTo(new TokenRange(5, 7));
        assertThat(TokenRange.of(1, 1).last()).isEqualTo(1);
        assertThat(TokenRange.of(TokenRange.LIMIT - 2, 2).last()).isEqualTo(TokenRange.LIMIT - 1);
        assertThatIllegalArgumentException().isThrownBy(() -> TokenRange.of(TokenRange.LIMIT - 2, 3));
        assertThatIllegalArgumentException().isThrownBy(() -> TokenRange.of(0, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> TokenRange.of(5, 0));
        AcquireRequest request = AcquireRequest.exclusive(List.of(NAME), owner, "h", 1, 1);
        assertThat(new Ballot(request, 5, 3).tokens()).isEqualTo(new TokenRange(5, 7));
        assertThatIllegalArgumentException().isThrownBy(() -> new Ballot(request, 0, 1));
    }

    @Test
    void failuresCarryTheVotesOfTheirError() {
        List<NodeVote> votes = List.of(new NodeVote("a", NodeVote.Answer.FAILED, "gone"));
        LockStoreException error = new StoreUnavailableException("x", votes, null);
        assertThat(new AcquireReply.Failed(FailureKind.UNKNOWN, error, 1).votes())
                .isEqualTo(votes);
        assertThat(new ReleaseReply.Failed(FailureKind.UNKNOWN, error).votes()).isEqualTo(votes);
        assertThat(new RenewReply.Failed(error).votes()).isEqualTo(votes);
        assertThat(new RenewReply.NotOurs(votes).votes()).isEqualTo(votes);
        assertThat(new RenewReply.Renewed(1).votes()).isEmpty();
        Grant grant = new Grant(owner, TokenRange.of(5, 3), 1, new Incarnation("life"));
        assertThat(new AcquireReply.Granted(grant, votes).ballot())
                .as("the highest that was proposed")
                .isEqualTo(7);
    }

    // ---- owner tokens

    @Test
    void anOwnerTokenIsSecretAndItsIdsAreNot() {
        String hex = "00112233445566778899aabbccddeeff00112233";
        OwnerToken token = OwnerToken.fromHex(hex.toUpperCase(java.util.Locale.ROOT));
        assertThat(token.hex()).isEqualTo(hex);
        assertThat(token).isEqualTo(OwnerToken.fromHex(hex)).hasSameHashCodeAs(OwnerToken.fromHex(hex));
        assertThat(token).isNotEqualTo(owner).hasToString("OwnerToken(hidden)");
        assertThat(token.attemptId()).hasSize(16).matches("[0-9a-f]+").isNotEqualTo(owner.attemptId());
        assertThat(token.publicId()).matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
        assertThat(hex).doesNotContain(token.attemptId());
        assertThat(owner.hex()).hasSize(40);
        for (String wrong : List.of(hex + "0", hex.substring(1), hex.replace('f', 'g'))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> OwnerToken.fromHex(wrong))
                    .withMessageContaining(wrong.length() + " characters")
                    .withMessageNotContaining(wrong);
        }
    }

    // ---- encoded names

    @Test
    void aPlainNameIsReadBackAsItWas() {
        for (String text : List.of("order:1001", "a.b_c-D", ".hidden", "a/b c%", "订单", "AZaz09", "x{y}@[`~", "..")) {
            LockName name = LockName.exactly(text);
            String plain = PlainName.of(name);
            assertThat(plain).as(text).matches("[a-zA-Z0-9._:%-]+").doesNotStartWith(".");
            assertThat(PlainName.read(plain)).contains(name);
        }
        assertThat(PlainName.of(LockName.exactly("a/b%"))).isEqualTo("a%2Fb%25");
        assertThat(PlainName.of(LockName.exactly(".a."))).isEqualTo("%2Ea.");
        assertThat(PlainName.of(LockName.exactly("AZaz09:_-."))).isEqualTo("AZaz09:_-.");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a%2fb", "a/b", "%41", "a%", "a%2", "a%zz", "订", "%", "%0A", ".a", "%C3", "a b", "%٢٢"})
    void whatWasNotWrittenSoIsNoName(String plain) {
        assertThat(PlainName.read(plain)).isEmpty();
    }

    @Test
    void aGlobMatchesTheWholeName() {
        assertThat(Glob.of("order:*").matches(LockName.exactly("order:1"))).isTrue();
        assertThat(Glob.of("order:*").matches("an order:1")).isFalse();
        assertThat(Glob.of("a?c").matches("abc")).isTrue();
        assertThat(Glob.of("a?c").matches("ac")).isFalse();
        assertThat(Glob.of("a.c").matches("abc")).as("a dot is a dot").isFalse();
        assertThat(Glob.of("a?")).hasToString("a?");
    }

    @Test
    void aHolderIdThatIsNoneIsForeign() {
        assertThat(ForeignText.holderId("host/1/x".getBytes(java.nio.charset.StandardCharsets.UTF_8)))
                .isEqualTo("host/1/x");
        assertThat(ForeignText.holderId("x".repeat(256).getBytes(java.nio.charset.StandardCharsets.UTF_8)))
                .hasSize(256);
        for (byte[] wrong : List.of(
                new byte[0],
                " ".getBytes(java.nio.charset.StandardCharsets.UTF_8),
                "a\nb".getBytes(java.nio.charset.StandardCharsets.UTF_8),
                "x".repeat(257).getBytes(java.nio.charset.StandardCharsets.UTF_8),
                new byte[] {(byte) 0xff, 'a'})) {
            assertThat(ForeignText.holderId(wrong)).isEqualTo("foreign");
        }
    }

    // ---- time limits

    private CompletableFuture<String> within(CompletableFuture<String> work) {
        return TimeLimit.within(clock, 1_000, () -> work, error -> "failed " + error.getMessage(), () -> "late");
    }

    private CompletableFuture<String> orFail(CompletableFuture<String> work) {
        return TimeLimit.orFail(
                clock,
                1_000,
                () -> work,
                error -> new StoreUnavailableException("failed " + error.getMessage(), error),
                () -> new StoreUnavailableException("late", null));
    }

    @Test
    void workIsInTimeOrLateOnce() {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> reply = within(work);
        CompletableFuture<String> answer = orFail(work);
        clock.pass(Duration.ofNanos(999));
        assertThat(reply).isNotDone();
        assertThat(answer).isNotDone();
        work.complete("done");
        assertThat(reply).isCompletedWithValue("done");
        assertThat(answer).isCompletedWithValue("done");
        clock.pass(Duration.ofSeconds(1));
        assertThat(reply).isCompletedWithValue("done");
        assertThat(within(CompletableFuture.failedFuture(new IllegalStateException("x"))))
                .isCompletedWithValue("failed x");
        assertThat(orFail(CompletableFuture.failedFuture(new IllegalStateException("x"))))
                .isCompletedExceptionally();
        CompletableFuture<String> late = within(new CompletableFuture<>());
        CompletableFuture<String> lateAnswer = orFail(new CompletableFuture<>());
        clock.pass(Duration.ofNanos(1_000));
        assertThat(late).isCompletedWithValue("late");
        assertThat(lateAnswer).isCompletedExceptionally();
        assertThatThrownBy(lateAnswer::join).hasCauseInstanceOf(StoreUnavailableException.class);
        assertThat(TimeLimit.within(
                        clock,
                        1_000,
                        () -> {
                            throw new IllegalStateException("thrown");
                        },
                        error -> "failed " + error.getMessage(),
                        () -> "late"))
                .isCompletedWithValue("failed thrown");
    }

    @Test
    void anErrorAtTheStartIsTheFailureAndLeavesNoTimer() {
        CompletableFuture<String> reply = TimeLimit.within(
                clock,
                1_000,
                () -> {
                    throw new InternalError("no thread");
                },
                error -> "failed " + error.getMessage(),
                () -> "late");
        assertThat(reply).isCompletedWithValue("failed no thread");
        assertThat(clock.armed()).isZero();
    }

    @Test
    void noTimerIsLeftBehindByWhatIsDone() {
        within(CompletableFuture.completedFuture("x"));
        orFail(CompletableFuture.completedFuture("x"));
        assertThat(clock.armed()).isZero();
    }

    @Test
    void anInterruptIsKeptByWhoeverAsksForCredentials() {
        CredentialsDesk interrupted = new CredentialsDesk(
                () -> {
                    throw new InterruptedException("made by the test");
                },
                "memory:",
                clock);
        assertThat(interrupted.ask()).isCompletedExceptionally();
        assertThat(Thread.interrupted()).as("of the provider's thread").isTrue();
        CredentialsDesk desk = new CredentialsDesk(() -> Credentials.ofPassword("x"), "memory:", clock);
        assertThat(desk.now().password()).containsExactly('x');
        clock.interruptsNextWait = true;
        assertThatThrownBy(desk::now).isInstanceOf(StoreUnavailableException.class);
        assertThat(Thread.interrupted()).as("of the thread that waits").isTrue();
        assertThat(clock.armed()).isZero();
    }

    @Test
    void whatIsKeptUntilATimeHasOneTimer() {
        List<String> over = new ArrayList<>();
        KeptUntil kept = new KeptUntil(clock, () -> over.add("over"));
        long start = clock.nanoTime();
        kept.atLeast(start + 1_000);
        kept.atLeast(start + 2_000);
        assertThat(clock.armed()).as("the one it has looks again").isEqualTo(1);
        kept.exactly(start + 500);
        assertThat(clock.armed()).isEqualTo(1);
        clock.pass(Duration.ofNanos(499));
        assertThat(over).isEmpty();
        clock.pass(Duration.ofNanos(1));
        assertThat(over).hasSize(1);
        assertThat(clock.armed()).isZero();
        KeptUntil ended = new KeptUntil(clock, () -> over.add("over"));
        ended.atLeast(clock.nanoTime() + 1_000);
        ended.end();
        assertThat(clock.armed()).isZero();
        assertThat(over).hasSize(1);
    }

    @Test
    void whatIsHandedOverWakesWhoeverDoesNotKnowHandOvers() {
        List<LockName> woken = new ArrayList<>();
        StoreSignals simple = new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
            }

            @Override
            public void lost(OwnerToken lost, LossCause cause) {}

            @Override
            public void reconnected() {}
        };
        simple.handedOver(new HandOver(NAME, "attempt", TokenRange.of(1, 1), 1));
        assertThat(woken).containsExactly(NAME);
        assertThat(OwnerToken.draw(clock)).isNotEqualTo(OwnerToken.draw(clock));
        assertThat(new NodeReply.Quarantined(4_000_000, new Incarnation("life"), 1).reason())
                .isEqualTo("it may have forgotten what it granted, and grants nothing for 5 ms more");
        assertThat(Glob.of("a*").matches(NAME)).isFalse();
    }

    @Test
    void aStoreThatCanDoNothingForOperatorsSaysSo() {
        StoreOperations none = StoreOperations.none();
        assertThat(none.keepsClientRecords()).isFalse();
        assertThat(none.client("x").join()).isEmpty();
        assertThat(none.leaks().join()).isEmpty();
        assertThat(none.diagnose().join()).isEmpty();
        assertThat(none.coverChildren()).isEmpty();
        assertThat(none.announce(null, 1)).isCompleted();
        assertThat(Birth.declared("set", 7)).isEqualTo(new Birth(Birth.ANY_LIFE, 0, "set", 7));
    }
}
