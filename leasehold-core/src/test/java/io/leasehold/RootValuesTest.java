package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.ClientRecord.ClientHold;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The values of the interface: what they refuse, at which bound, and what they say. */
@Tag("quick")
final class RootValuesTest {

    private static final LockOptions DEFAULTS = LockOptions.defaults();
    private static final LockName NAME = LockName.exactly("n");
    private static final List<NodeVote> VOTES =
            List.of(new NodeVote("a", NodeVote.Answer.GRANTED, ""), new NodeVote("b", NodeVote.Answer.FAILED, "gone"));

    // ---- options

    private static void refused(Runnable change, String why) {
        assertThatIllegalArgumentException().isThrownBy(change::run).withMessageContaining(why);
    }

    @Test
    void optionsAreAllowedUpToTheirBounds() {
        Duration nano = Duration.ofNanos(1);
        Duration ttl = Duration.ofSeconds(30);
        assertThat(DEFAULTS.ttl(Duration.ofMillis(100)).ttl()).isEqualTo(Duration.ofMillis(100));
        refused(() -> DEFAULTS.ttl(Duration.ofMillis(100).minus(nano)), "ttl is 99.999999ms");
        assertThat(DEFAULTS.ttl(Duration.ofHours(24)).ttl()).isEqualTo(Duration.ofHours(24));
        refused(() -> DEFAULTS.ttl(Duration.ofHours(24).plus(nano)), "ttl is 24h");

        Duration mostDelay = Duration.ofHours(24).minus(ttl);
        assertThat(DEFAULTS.lockDelay(mostDelay).lockDelay()).isEqualTo(mostDelay);
        refused(() -> DEFAULTS.lockDelay(mostDelay.plus(nano)), "lockDelay is");
        refused(() -> DEFAULTS.lockDelay(nano.negated()), "lockDelay is");

        assertThat(DEFAULTS.maxHold(ttl).maxHold()).isEqualTo(ttl);
        refused(() -> DEFAULTS.maxHold(ttl.minus(nano)), "below the ttl");

        assertThat(DEFAULTS.renewal(Renewal.every(Duration.ofMillis(10))).renewalInterval())
                .isEqualTo(Duration.ofMillis(10));
        refused(() -> DEFAULTS.renewal(Renewal.every(Duration.ofMillis(10).minus(nano))), "keep the store busy");
        Duration half = DEFAULTS.validity().dividedBy(2);
        assertThat(DEFAULTS.renewal(Renewal.every(half)).renewalInterval()).isEqualTo(half);
        refused(() -> DEFAULTS.renewal(Renewal.every(half.plus(nano))), "two intervals must fit");
        assertThat(DEFAULTS.renewal(Renewal.none()).renewalInterval()).isNull();
        assertThat(DEFAULTS.renewal(Renewal.none()).longestCheckable()).isEqualTo(DEFAULTS.validity());
        assertThat(DEFAULTS.renewal(Renewal.none()).longestUnrenewed()).isEqualTo(DEFAULTS.validity());
        assertThat(DEFAULTS.renewal(Renewal.automatic())).isEqualTo(DEFAULTS);

        LockOptions unrenewed = DEFAULTS.renewal(Renewal.none());
        assertThat(unrenewed.atLeast(ttl).atLeast()).isEqualTo(ttl);
        refused(() -> unrenewed.atLeast(ttl.plus(nano)), "without renewal nothing keeps a lock longer");
        Duration mostLeast = Duration.ofHours(24).minusSeconds(10);
        assertThat(DEFAULTS.atLeast(mostLeast).atLeast()).isEqualTo(mostLeast);
        refused(() -> DEFAULTS.atLeast(mostLeast.plus(nano)), "maxHold less one renewal interval");
        refused(() -> DEFAULTS.atLeast(nano.negated()), "atLeast is");

        assertThat(DEFAULTS.minimumValidity(Duration.ZERO).minimumValidity()).isZero();
        assertThat(DEFAULTS.minimumValidity(DEFAULTS.validity().minus(nano)).minimumValidity())
                .isEqualTo(DEFAULTS.validity().minus(nano));
        refused(() -> DEFAULTS.minimumValidity(DEFAULTS.validity()), "minimumValidity is");
        refused(() -> DEFAULTS.minimumValidity(nano.negated()), "minimumValidity is");

        assertThat(DEFAULTS.nodeTimeout(Duration.ofMillis(1)).givenNodeTimeout())
                .contains(Duration.ofMillis(1));
        assertThat(DEFAULTS.givenNodeTimeout()).isEmpty();
        refused(() -> DEFAULTS.nodeTimeout(Duration.ofMillis(1).minus(nano)), "nodeTimeout is");
        Duration most = unrenewed.ttl().dividedBy(2);
        assertThat(unrenewed.nodeTimeout(most).nodeTimeout()).isEqualTo(most);
        refused(() -> unrenewed.nodeTimeout(most.plus(nano)), "half the ttl");
        // validity 29.698 s − 10 s − 2 × 9.849 s = 0
        refused(() -> DEFAULTS.nodeTimeout(Duration.ofMillis(9_849)), "leaves no validity");
        refused(() -> DEFAULTS.nodeTimeout(Duration.ofMillis(9_850)), "leaves no validity");
        assertThat(DEFAULTS.nodeTimeout(Duration.ofMillis(9_848)).longestUnrenewed())
                .isEqualTo(Duration.ofMillis(2));

        assertThat(DEFAULTS.reentryLimit(1).reentryLimit()).isEqualTo(1);
        assertThat(DEFAULTS.renewalTries(1).renewalTries()).isEqualTo(1);
        assertThat(DEFAULTS.renewalTries(1_000).renewalTries()).isEqualTo(1_000);
        refused(() -> DEFAULTS.renewalTries(0), "renewalTries is 0");
        refused(() -> DEFAULTS.renewalTries(1_001), "renewalTries is 1001");
        assertThat(DEFAULTS.recheck(Duration.ofMillis(10)).recheck()).isEqualTo(Duration.ofMillis(10));
        assertThat(DEFAULTS.recheck(Duration.ofHours(24)).recheck()).isEqualTo(Duration.ofHours(24));
        refused(() -> DEFAULTS.recheck(Duration.ofHours(24).plus(nano)), "recheck is");
        assertThat(DEFAULTS.retry(Backoff.fixed(nano)).retry()).isEqualTo(Backoff.fixed(nano));
    }

    @Test
    void optionsSayAllTheirValues() {
        assertThat(DEFAULTS)
                .hasToString("ttl=30s renewal=10s maxHold=24h minimumValidity=3s nodeTimeout=50ms"
                        + " recheck=3s retry=" + DEFAULTS.retry()
                        + " fairness=BOUNDED_LOCAL_HAND_OVER lockDelay=0s atLeast=0s reentryLimit=2147483647"
                        + " renewalTries=10");
        assertThat(DEFAULTS.renewal(Renewal.none()).toString()).contains("renewal=none");
        assertThat(DEFAULTS.equals(null)).isFalse();
    }

    @Test
    void backoffsMayHaveOneBound() {
        Duration one = Duration.ofMillis(1);
        assertThat(Backoff.jittered(one, one)).isEqualTo(new Backoff.Jittered(one, one));
        assertThat(Backoff.exponential(one, one)).isEqualTo(new Backoff.Exponential(one, one));
        refused(() -> Backoff.exponential(one, one.minusNanos(1)), "wrong order");
        refused(() -> Backoff.exponential(one.negated(), one), "first delay");
        refused(() -> Backoff.jittered(Duration.ZERO, one), "shortest delay");
        refused(() -> Renewal.every(one.negated()), "above zero");
    }

    // ---- promises

    @Test
    void aPromiseCoversItselfAndLess() {
        Guarantees middle = new Guarantees(
                Guarantee.Exclusion.WITHIN_DRIFT,
                Guarantee.Fencing.BEST_EFFORT,
                Guarantee.Queueing.WAKE_UP,
                Guarantee.Scope.MACHINE);
        assertThat(middle.covers(Guarantee.Exclusion.BEST_EFFORT)).isTrue();
        assertThat(middle.covers(Guarantee.Exclusion.WITHIN_DRIFT)).isTrue();
        assertThat(middle.covers(Guarantee.Exclusion.BY_STORE)).isFalse();
        assertThat(middle.covers(Guarantee.Fencing.BEST_EFFORT)).isTrue();
        assertThat(middle.covers(Guarantee.Fencing.INCREASING)).isFalse();
        assertThat(middle.covers(Guarantee.Queueing.POLLING)).isTrue();
        assertThat(middle.covers(Guarantee.Queueing.WAKE_UP)).isTrue();
        assertThat(middle.covers(Guarantee.Queueing.FIFO)).isFalse();
        assertThat(middle.covers(Guarantee.Scope.PROCESS)).isTrue();
        assertThat(middle.covers(Guarantee.Scope.MACHINE)).isTrue();
        assertThat(middle.covers(Guarantee.Scope.NETWORK)).isFalse();
        assertThat(middle).hasToString("exclusion WITHIN_DRIFT, fencing BEST_EFFORT, queueing WAKE_UP, scope MACHINE");
    }

    // ---- names

    @Test
    void aNameIsUnicodeInWholePairs() {
        for (String broken : List.of("\ud83d", "\udd12", "a\udd12", "\ud83dx", "\udd12\ud83d")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> LockName.exactly(broken))
                    .withMessageContaining("half a surrogate pair");
        }
        assertThat(LockName.exactly("\ud83d\udd12\ud83d\udd12").text()).hasSize(4);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockName.exactly("x".repeat(1_025)))
                .withMessageContaining("\"" + "x".repeat(48) + "…\"");
        assertThat(LockName.printable("x".repeat(48))).hasSize(48);
        assertThat(LockName.of("a{x}b{y}", 1, 2).text()).isEqualTo("a1b2");
        assertThat(LockName.of("{x}", 1).text()).isEqualTo("1");
    }

    // ---- what clients tell of themselves

    private static ClientHold hold(String lock) {
        return new ClientHold(lock, "main", Instant.ofEpochMilli(5), 7);
    }

    @Test
    void aRecordIsReadBackAsItWas() {
        ClientRecord record =
                new ClientRecord("h/1/x", "h", 1, "app", Instant.ofEpochMilli(3), List.of(hold("a"), hold("b")));
        assertThat(ClientRecord.decoded(record.encoded())).contains(record);
        assertThat(record.encoded().lines()).hasSize(3);
        assertThat(record.holdOf(LockName.exactly("b"))).contains(hold("b"));
        assertThat(record.holdOf(LockName.exactly("c"))).isEmpty();
        ClientRecord dated = new ClientRecord(
                "h/1/x", "h", 1, "app", Instant.ofEpochMilli(3), List.of(hold("a")), Instant.ofEpochMilli(4));
        assertThat(ClientRecord.decoded(dated.encoded())).contains(dated);
        assertThat(dated.encoded()).startsWith("1\th/1/x\th\t1\tapp\t3\t4\n");
        ClientRecord odd = new ClientRecord("h/1/x", "h\tost", 1, "a\npp", Instant.ofEpochMilli(3), List.of());
        assertThat(ClientRecord.decoded(odd.encoded())).hasValueSatisfying(read -> {
            assertThat(read.host()).isEqualTo("h?ost");
            assertThat(read.application()).isEqualTo("a?pp");
        });
    }

    @Test
    void aRecordOfAnotherKindIsNone() {
        String head = "1\th/1/x\th\t1\tapp\t3\n";
        assertThat(ClientRecord.decoded(head)).isPresent();
        for (String other : List.of(
                "",
                "\n",
                "2" + head.substring(1),
                "1\th\th\t1\tapp\n",
                head + "a\tb\n",
                head + "a\tb\tx\t1\n",
                head.replace("\t1\t", "\tx\t"))) {
            assertThat(ClientRecord.decoded(other)).as(other).isEmpty();
        }
        String many = head + String.join("", Collections.nCopies(501, "a\tmain\t5\t7\n"));
        assertThat(ClientRecord.decoded(many))
                .hasValueSatisfying(read -> assertThat(read.holds()).hasSize(500));
    }

    // ---- what is thrown

    @Test
    void exceptionsSayWhatHappenedToWhichLock() {
        Holder holder = new Holder("host/1/x", null, OptionalLong.empty());
        LockBusyException busy = new LockBusyException(NAME, Duration.ofMillis(5), holder, VOTES);
        assertThat(busy).hasMessage("lock \"n\" is busy: waited 5 ms, held by host/1/x");
        assertThat(busy.lockName()).isEqualTo(NAME);
        assertThat(busy.waited()).isEqualTo(Duration.ofMillis(5));
        assertThat(busy.holder()).isEqualTo(holder);
        assertThat(busy.votes()).isEqualTo(VOTES);
        assertThat(new LockBusyException(NAME, Duration.ZERO, null)).hasMessage("lock \"n\" is busy: waited 0 ms");
        assertThat(new LockBusyException(NAME, Duration.ZERO, null).votes()).isEmpty();

        LeaseLostException lost = new LeaseLostException(NAME, LossCause.EXPIRED, "too late", VOTES);
        assertThat(lost).hasMessage("lease on \"n\" was lost (EXPIRED): too late; a: granted; b: failed (gone)");
        assertThat(lost.lockName()).isEqualTo(NAME);
        assertThat(lost.lossCause()).isEqualTo(LossCause.EXPIRED);
        assertThat(lost.votes()).isEqualTo(VOTES);
        assertThat(new LeaseLostException(NAME, LossCause.EXPIRED, "x"))
                .hasMessage("lease on \"n\" was lost (EXPIRED): x");

        LeaseAtRiskException risk = new LeaseAtRiskException(NAME, Duration.ofMillis(3), Duration.ofMillis(9));
        assertThat(risk).hasMessageContaining("only 3 ms more; 9 ms were requested");
        assertThat(risk.lockName()).isEqualTo(NAME);
        assertThat(risk.remaining()).isEqualTo(Duration.ofMillis(3));
        assertThat(new AmbiguousAcquireException("x", VOTES, null).votes()).isEqualTo(VOTES);
        assertThat(new StoreUnavailableException("x", null).votes()).isEmpty();
    }

    @Test
    void anAttemptThatWasBusyThrowsOnDemand() {
        Attempt.Busy<Lease> busy = new Attempt.Busy<>(NAME, Duration.ofMillis(5), null, VOTES);
        assertThat(busy.orElseNull()).isNull();
        assertThatThrownBy(busy::orElseThrow)
                .isInstanceOfSatisfying(
                        LockBusyException.class, e -> assertThat(e.votes()).isEqualTo(VOTES));
        assertThat(new Holder("x", null, OptionalLong.empty()).ends()).isEqualTo(Holder.Ends.NEVER);
        assertThat(new Holder("x", Duration.ZERO, OptionalLong.empty()).ends()).isEqualTo(Holder.Ends.BY_TTL);
    }

    // ---- credentials

    @Test
    void aPasswordIsCopiedAndNeverShown() {
        Credentials credentials = Credentials.of("user", "s3cret");
        assertThat(credentials.user()).isEqualTo("user");
        assertThat(credentials.password()).containsExactly("s3cret".toCharArray());
        credentials.password()[0] = 'x';
        assertThat(credentials.password()).containsExactly("s3cret".toCharArray());
        assertThat(credentials).hasToString("Credentials[***]");
        assertThat(Credentials.ofPassword("x").user()).isNull();
        refused(() -> Credentials.of("", "x"), "the user is empty");
        refused(() -> Credentials.ofPassword(""), "the password is empty");
    }

    @Test
    void aPasswordFileIsReadEachTimeWithoutItsLastLineEnd(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("password");
        CredentialsProvider provider = CredentialsProvider.passwordFile("user", file);
        assertThatThrownBy(provider::credentials)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("the password file " + file + " does not exist: create it, or correct its path");
        for (String end : List.of("", "\n", "\r\n")) {
            Files.writeString(file, "s3c\nret" + end);
            assertThat(provider.credentials().password()).containsExactly("s3c\nret".toCharArray());
        }
        assertThat(provider.credentials().user()).isEqualTo("user");
        Files.writeString(file, "x");
        assertThat(CredentialsProvider.passwordFile(null, file).credentials().user())
                .isNull();
        Files.writeString(file, "\n");
        assertThatThrownBy(provider::credentials).hasMessageContaining("is empty");
        Files.write(file, new byte[] {'x', (byte) 0xff});
        assertThatThrownBy(provider::credentials).hasMessageEndingWith("is not UTF-8: write the password in UTF-8");
        assertThatThrownBy(CredentialsProvider.passwordFile("user", directory)::credentials)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll(directory.toString(), "cannot be read");
    }
}
