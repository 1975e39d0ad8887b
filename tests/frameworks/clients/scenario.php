<?php
// What every client in PHP does: see scenario.js.

function say(array $event): void
{
    fwrite(STDOUT, json_encode($event, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION) . "\n");
}

/** A value with its type, as far as the library told it. */
function typed($value)
{
    if ($value instanceof DateTimeInterface) {
        return ['date' => $value->getTimestamp()];
    }
    if (is_object($value)) {
        return [get_class($value) => var_export($value, true)];
    }
    if (!is_array($value)) {
        return $value;
    }
    ksort($value);
    return array_map('typed', $value);
}

/** Tells the driver what came; whether it is to succeed now. */
function succeeds(array $body, array $event): bool
{
    static $seen = [];
    $seen[$body['name']] = ($seen[$body['name']] ?? 0) + 1;
    $success = $seen[$body['name']] > $body['fails'];
    $event['headers'] = (object) $event['headers'];
    say(['delivery' => $body['name'], 'body' => $body, 'success' => $success] + $event);
    return $success;
}

function debian_version(string $package): string
{
    return preg_replace('/[-+].*/', '', trim(shell_exec('dpkg-query -W -f \'${Version}\' ' . escapeshellarg($package))));
}

function ready(string $version): void
{
    say(['ready' => true, 'version' => $version]);
}

/** Calls `$turn` again and again, and `$publish` with each body when the driver says so; ends when it closes stdin. */
function each_turn(callable $turn, callable $publish): void
{
    stream_set_blocking(STDIN, false);
    while (!feof(STDIN)) {
        if (fgets(STDIN) !== false) {
            foreach (json_decode(getenv('FRAMEWORKS_MESSAGES'), true) as $message) {
                $publish($message + ['text' => 'grüße 👋', 'numbers' => [1, 2.5]]);
            }
        }
        $turn();
    }
}
