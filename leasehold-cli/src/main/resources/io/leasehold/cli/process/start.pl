# Starts a command with exactly the given bytes. If requested, starts it below a process that adopts orphans.
#
#   PRCTL    the number of the system call prctl, to adopt orphans; 0: become the command
#   SESSION  1: the command leads its own session and group
#   HEX      1: the words of the command are in hexadecimal digits; 0: unchanged, since the length of an argument is limited
#   PIECE …  changes to the environment, NAME or NAME=VALUE, in hexadecimal digits; then --, then the words of the command
#
# The adopting process shows the pid of the command in its title, and then its exit status. It exits when it has no descendants left.
use strict;
my ($prctl, $session, $hex, @pieces) = @ARGV;
while (defined(my $piece = shift @pieces)) {
    last if $piece eq '--';
    my ($name, $value) = split /=/, pack('H*', $piece), 2;
    if (defined $value) { $ENV{$name} = $value } else { delete $ENV{$name} }
}
my @words = $hex ? map { pack 'H*', $_ } @pieces : @pieces;

sub become {
    no warnings;
    exec { $words[0] } @words;
    my $missing = $! == 2;
    syswrite STDERR, "leasehold: cannot start $words[0]: $!\n";
    require POSIX;
    POSIX::_exit($missing ? 127 : 126);
}

sub give_up {
    syswrite STDERR, "leasehold: $_[0]: $!\n";
    POSIX::_exit(70);
}

if (!$prctl) {
    if ($session) { require POSIX; POSIX::setsid() }
    become();
}
require POSIX;
# PR_SET_CHILD_SUBREAPER
syscall($prctl + 0, 36, 1, 0, 0, 0) == 0 or give_up('cannot adopt orphans');
my $all = POSIX::SigSet->new;
$all->fillset;
my $before = POSIX::SigSet->new;
POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all, $before);
my $child = fork;
defined $child or give_up('cannot start a process for the command');
if ($child == 0) {
    POSIX::setsid() if $session;
    POSIX::sigprocmask(POSIX::SIG_SETMASK(), $before);
    become();
}
# A signal that kills Leasehold's process group must not kill this process.
POSIX::setsid();
$SIG{$_} = 'IGNORE' for qw(HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP TTIN TTOU);
$SIG{CHLD} = 'DEFAULT';
open STDIN, '<', '/dev/null';
open STDOUT, '>', '/dev/null';
open STDERR, '>', '/dev/null';
chdir '/';
POSIX::sigprocmask(POSIX::SIG_SETMASK(), $before);
$0 = "leasehold-reaper $child runs.";
my $code = 70;
while ((my $ended = waitpid(-1, 0)) > 0) {
    next if $ended != $child;
    $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
    $0 = "leasehold-reaper $child exit $code.";
}
POSIX::_exit($code);
