package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
final class LeaseTicketTest {

    private static final String SECRET = "0123456789abcdef0123456789abcdef01234567";
    private static final LeaseTicket TICKET =
            LeaseTicket.of(LockName.exactly("zürich/☂ 1"), SECRET, Duration.ofSeconds(90), "redis://a:6379");

    @Test
    void itsTextIsReadBack() {
        String text = TICKET.text();
        assertThat(text).matches("leasehold-ticket-1\\.[A-Za-z0-9_-]+");
        LeaseTicket read = LeaseTicket.parse(" " + text + "\r\n");
        assertThat(read).isEqualTo(TICKET).hasSameHashCodeAs(TICKET);
        assertThat(read.lockName()).isEqualTo(LockName.exactly("zürich/☂ 1"));
        assertThat(read.claim()).isEqualTo(Duration.ofSeconds(90));
        assertThat(read.store()).isEqualTo("redis://a:6379");
        assertThat(read.secret()).isEqualTo(SECRET);
    }

    @Test
    void itDoesNotShowItsSecret() {
        assertThat(TICKET.toString()).contains("zürich/☂ 1", "redis://a:6379").doesNotContain(SECRET);
        TicketRefusedException refused = new TicketRefusedException(
                TICKET, "redis://b:6379", new Holder("host/1/x", Duration.ofSeconds(3), OptionalLong.of(7)));
        assertThat(refused).hasMessageContainingAll("zürich/☂ 1", "redis://a:6379", "redis://b:6379", "host/1/x");
        assertThat(refused.getMessage()).doesNotContain(SECRET).doesNotContain(TICKET.text());
        assertThat(refused.lockName()).isEqualTo(TICKET.lockName());
        assertThat(refused.holder()).isNotNull();
    }

    @Test
    void ticketsWithAnotherPartAreOthers() {
        LockName name = TICKET.lockName();
        assertThat(TICKET)
                .isNotEqualTo(LeaseTicket.of(LockName.exactly("b"), SECRET, TICKET.claim(), TICKET.store()))
                .isNotEqualTo(LeaseTicket.of(name, SECRET.replace('0', '1'), TICKET.claim(), TICKET.store()))
                .isNotEqualTo(LeaseTicket.of(name, SECRET, Duration.ofSeconds(91), TICKET.store()))
                .isNotEqualTo(LeaseTicket.of(name, SECRET, TICKET.claim(), "redis://b:6379"))
                .isNotEqualTo(SECRET);
    }

    @Test
    void aTextThatIsNoTicketIsRefusedWithoutBeingRepeated() {
        String text = TICKET.text();
        for (String wrong : new String[] {
            "",
            "hunter2",
            text.substring(0, text.length() - 1),
            text.substring(0, text.length() / 2),
            text.replace("leasehold-ticket-1", "leasehold-ticket-2"),
            text.substring(0, 30) + (text.charAt(30) == 'A' ? 'B' : 'A') + text.substring(31),
            text + "=",
            text + "?",
            "leasehold-ticket-1.",
            "leasehold-ticket-1.AAAA"
        }) {
            assertThatIllegalArgumentException()
                    .as(wrong)
                    .isThrownBy(() -> LeaseTicket.parse(wrong))
                    .satisfies(e -> {
                        if (wrong.length() > 8) {
                            assertThat(e.getMessage()).doesNotContain(wrong.substring(wrong.length() - 8));
                        }
                    });
        }
    }

    @Test
    void aSecretOfAnotherFormAndAClaimWithoutLengthAreRefused() {
        LockName name = TICKET.lockName();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LeaseTicket.of(name, "hunter2", Duration.ofSeconds(1), "s"))
                .withMessageNotContaining("hunter2");
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        LeaseTicket.of(name, SECRET.toUpperCase(java.util.Locale.ROOT), Duration.ofSeconds(1), "s"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LeaseTicket.of(name, SECRET, Duration.ofNanos(999_999), "s"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LeaseTicket.of(name, SECRET, Duration.ofSeconds(-1), "s"));
    }

    @Test
    void aHolderKnowsWhetherItIsATicket() {
        String label = Holder.ticketOf("host/1/x");
        assertThat(Holder.ticketOf(label)).isEqualTo(label);
        assertThat(new Holder(label, null, OptionalLong.empty()).isTicket()).isTrue();
        assertThat(new Holder("host/1/x", null, OptionalLong.empty()).isTicket())
                .isFalse();
    }
}
