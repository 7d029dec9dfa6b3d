package execwatch

var attacks = map[string]func() error{}
